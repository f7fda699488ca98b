import type { AccessControl } from "../auth/principal.ts";
import { generateToken, hashToken } from "../auth/tokens.ts";
import type { Clock } from "../lib/clock.ts";
import scimTokens from "../resources/security/scim-tokens.ts";
import type { RowOf } from "../schema/resource.ts";
import { fullScope } from "../store/full-scope.ts";
import type { ActorContext, Store } from "../store/store.ts";

/** The row of a directory's token. */
export type ScimToken = RowOf<typeof scimTokens>;

/** Longer texts are no tokens of ours. */
const MAX_TOKEN_LENGTH = 512;
/** How exactly it is known when a token was used last. own choice */
const LAST_USED_PRECISION_MS = 60_000;

/** Makes a directory's token from `name`, `expires` and `homeDomainId` (API form). The clear value is in the answer and nowhere else. */
export async function createScimToken(
  store: Store,
  input: object,
  by: ActorContext,
): Promise<{ row: ScimToken; token: string }> {
  const { token, tokenHash } = generateToken();
  return { row: await store.create(scimTokens, input, by, { tokenHash }), token };
}

/** The directory whose token it is; null when it is unknown, revoked or expired. */
export function findScimToken({ store, clock }: { store: Store; clock: Clock }, token: string): ScimToken | null {
  if (token === "" || token.length > MAX_TOKEN_LENGTH) return null;
  const [row] = store.find(scimTokens, { tokenHash: hashToken(token) }, 1);
  if (!row || (row.expires !== null && row.expires <= clock.now())) return null;
  recordTokenUse(store, row, clock.now());
  return row;
}

/**
 * On whose behalf a directory writes: what is provisioned may be written whole, wherever it is, and users come into the token's
 * domain. Its rights end where `provisioned` and `provisionedGroup` say not-found.
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
  // A hint for people; the store reports its own failures.
  store
    .write((tx) => void tx.run("UPDATE scim_tokens SET last_used_at = ? WHERE id = ?", now, id))
    .catch(() => undefined);
}
