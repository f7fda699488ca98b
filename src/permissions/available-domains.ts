import type { AccessControl, Principal } from "../auth/principal.ts";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import domains from "../resources/domains/domains.ts";
import type { StoreReader } from "../store/store.ts";

/** A domain that the user may act in. */
export interface AvailableDomain {
  id: string;
  name: string;
  /** Names from the root to the domain, joined by `/`. */
  namePath: string;
}

/** Domains checked per turn of the event loop. */
const CHUNK_SIZE = 10;

/** The domains in which the user may act, sorted by name path; at most 200 exist. */
export async function listAvailableDomains(
  principal: Principal,
  { store, access, clock }: { store: StoreReader; access: Pick<AccessControl, "resolveScope">; clock: Clock },
): Promise<AvailableDomain[]> {
  const found: AvailableDomain[] = [];
  for (const [at, { id, name, namePath }] of store.find(domains, {}).entries()) {
    if (at % CHUNK_SIZE === CHUNK_SIZE - 1) await yieldToEventLoop(clock);
    if (canActIn(id, principal, access)) found.push({ id, name, namePath: namePath ?? name });
  }
  return found.sort((a, b) => a.namePath.localeCompare(b.namePath));
}

function canActIn(domainId: string, principal: Principal, access: Pick<AccessControl, "resolveScope">): boolean {
  try {
    access.resolveScope(principal, domainId);
    return true;
  } catch (error) {
    if (error instanceof CallerError) return false;
    throw error;
  }
}
