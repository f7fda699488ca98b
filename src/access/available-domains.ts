import { type Clock, nextTurn } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import domains from "../resources/domains/domains.ts";
import type { Reader } from "../store/store.ts";
import type { Access, Principal } from "./principal.ts";

/** A domain by its names. */
export interface AvailableDomain {
  id: string;
  name: string;
  /** Names from the root down to it, joined by `/`. */
  namePath: string;
}

/** Domains that are judged between two turns of the event loop. */
const SLICE = 10;

/** The domains in which somebody may act, sorted by name path: at most 200, as there are no more. */
export async function availableDomains(
  principal: Principal,
  { store, access, clock }: { store: Reader; access: Pick<Access, "scopeOf">; clock: Clock },
): Promise<AvailableDomain[]> {
  const found: AvailableDomain[] = [];
  for (const [at, { id, name, namePath }] of store.find(domains, {}).entries()) {
    if (at % SLICE === SLICE - 1) await nextTurn(clock);
    if (mayActIn(id, principal, access)) found.push({ id, name, namePath: namePath ?? name });
  }
  return found.sort((a, b) => a.namePath.localeCompare(b.namePath));
}

function mayActIn(domainId: string, principal: Principal, access: Pick<Access, "scopeOf">): boolean {
  try {
    access.scopeOf(principal, domainId);
    return true;
  } catch (error) {
    if (error instanceof CallerError) return false;
    throw error;
  }
}
