import type { Clock } from "../../base/clock.ts";
import scimTokens from "../../resources/security/scim-tokens.ts";
import type { RowOf } from "../../schema/resource.ts";
import { fullScope } from "../../store/full-scope.ts";
import type { By, Store } from "../../store/store.ts";
import type { Access } from "../principal.ts";
import { hashToken, newToken } from "../tokens.ts";

/** The row of a directory's token. */
export type ScimToken = RowOf<typeof scimTokens>;

/** Longer texts are no tokens of ours. */
const LONGEST = 512;
/** How exactly it is known when a token was used last. own choice */
const USE_MS = 60_000;

/** Makes a directory's token from `name`, `expires` and `homeDomainId` (API form). The clear value is in the answer and nowhere else. */
export async function createScimToken(store: Store, input: object, by: By): Promise<{ row: ScimToken; token: string }> {
  const { token, tokenHash } = newToken();
  return { row: await store.create(scimTokens, input, by, { tokenHash }), token };
}

/** The directory whose token it is; null when it is unknown, revoked or expired. */
export function findScimToken({ store, clock }: { store: Store; clock: Clock }, token: string): ScimToken | null {
  if (token === "" || token.length > LONGEST) return null;
  const [row] = store.find(scimTokens, { tokenHash: hashToken(token) }, 1);
  if (!row || (row.expires !== null && row.expires <= clock.now())) return null;
  noteUse(store, row, clock.now());
  return row;
}

/**
 * On whose behalf a directory writes: what is provisioned may be written whole, wherever it is, and users come into the token's
 * domain. Its rights end where `provisioned` and `provisionedGroup` say not-found.
 */
export function byToken(
  access: Pick<Access, "systemBy">,
  { name, homeDomainId }: ScimToken,
  address: string | null,
): By {
  const { actor, scope } = access.systemBy(`scim: ${name}`);
  return { actor: { ...actor, address }, scope: homeDomainId === null ? scope : fullScope(() => homeDomainId) };
}

function noteUse(store: Store, { id, lastUsedAt }: ScimToken, now: number): void {
  if (lastUsedAt !== null && now - lastUsedAt < USE_MS) return;
  // A hint for people; the store reports its own failures.
  store
    .write((tx) => void tx.run("UPDATE scim_tokens SET last_used_at = ? WHERE id = ?", now, id))
    .catch(() => undefined);
}
