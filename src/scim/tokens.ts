import type { AccessControl } from "../auth/principal.ts";
import { generateToken, hashToken } from "../auth/tokens.ts";
import type { Clock } from "../lib/clock.ts";
import scimTokens from "../resources/security/scim-tokens.ts";
import type { RowOf } from "../schema/resource.ts";
import { fullScope } from "../store/full-scope.ts";
import type { ActorContext, Store } from "../store/store.ts";

/** Row of a SCIM token. */
export type ScimToken = RowOf<typeof scimTokens>;

/** Longer tokens are refused without hashing. */
const MAX_TOKEN_LENGTH = 512;
/** Precision of `lastUsedAt`: at most one write per interval. */
const LAST_USED_PRECISION_MS = 60_000;

/**
 * Creates a SCIM token from `name`, `expires` and `homeDomainId` (API form). The clear text is returned once and not
 * stored.
 */
export async function createScimToken(
  store: Store,
  input: object,
  by: ActorContext,
): Promise<{ row: ScimToken; token: string }> {
  const { token, tokenHash } = generateToken();
  return { row: await store.create(scimTokens, input, by, { tokenHash }), token };
}

/** Finds a token; null if it is unknown, revoked or expired. */
export function findScimToken({ store, clock }: { store: Store; clock: Clock }, token: string): ScimToken | null {
  if (token === "" || token.length > MAX_TOKEN_LENGTH) return null;
  const [row] = store.find(scimTokens, { tokenHash: hashToken(token) }, 1);
  if (!row || (row.expires !== null && row.expires <= clock.now())) return null;
  recordTokenUse(store, row, clock.now());
  return row;
}

/**
 * Actor context of a directory: all rights, with new users in the token's domain. `getProvisionedUser` and
 * `getProvisionedGroup` restrict it to provisioned resources.
 */
export function scimActorContext(
  access: Pick<AccessControl, "systemContext">,
  { name, homeDomainId }: ScimToken,
  address: string | null,
): ActorContext {
  const { actor, scope } = access.systemContext(`scim: ${name}`);
  return { actor: { ...actor, address }, scope: homeDomainId === null ? scope : fullScope(() => homeDomainId) };
}

function recordTokenUse(store: Store, { id, lastUsedAt }: ScimToken, now: number): void {
  if (lastUsedAt !== null && now - lastUsedAt < LAST_USED_PRECISION_MS) return;
  // For display only: a lost update does no harm, and the store reports its own failures.
  store
    .write((tx) => void tx.run("UPDATE scim_tokens SET last_used_at = ? WHERE id = ?", now, id))
    .catch(() => undefined);
}
