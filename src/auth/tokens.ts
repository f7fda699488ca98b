import { hash, randomBytes } from "node:crypto";
import userTokens from "../resources/people/user-tokens.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";

/** A row of a user's tokens. */
export type UserToken = RowOf<typeof userTokens>;

/** Lets people and secret scanners recognise one of our tokens. */
const PREFIX = "carillon_";
const TOKEN_BYTES = 32;
/**
 * How many of them end when all of a user's or a consent's do: every one, as what is left is good. Applications that
 * refresh theirs leave some thousand behind.
 */
export const ALL_TOKENS_LIMIT = 1_000_000;

/** What the row of a token keeps of it: SHA-256, hex. Lookups by it need no constant-time comparison. */
export function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}

/** A new token and its hash; 256 random bits. */
export function generateToken(): { token: string; tokenHash: string } {
  const token = `${PREFIX}${randomBytes(TOKEN_BYTES).toString("base64url")}`;
  return { token, tokenHash: hashToken(token) };
}

/**
 * Makes a permanent token of a user from `name` and, optionally, `expires` (API form). The clear value is in the answer
 * and nowhere else. Throws as every creation does. Revoking is deleting the row.
 */
export async function createToken(
  store: Store,
  userId: string,
  input: object,
  by: ActorContext,
): Promise<{ row: UserToken; token: string }> {
  const { token, tokenHash } = generateToken();
  const row = await store.create(userTokens, { ...input, userId }, by, { kind: "permanent", tokenHash });
  return { row, token };
}

/**
 * Revokes a token. With a refresh token goes whatever came of the same consent, since it could get more; with an access
 * token of an application only when `wholeChain` says so. Throws not-found.
 */
export async function revokeToken(
  store: Store,
  token: UserToken,
  wholeChain: boolean,
  by: ActorContext,
): Promise<void> {
  const isEarlier = token.tokenType === "refresh_token" || token.type === "code";
  if (!wholeChain && !isEarlier) return store.remove(userTokens, token.id, by);
  await store.write((tx) => revokeTokenChain(tx, token, by));
}

/** Deletes a token of an application with all that came of the same consent. */
export function revokeTokenChain(tx: Transaction, { id, originId }: UserToken, by: ActorContext): void {
  const chain = originId === null ? [{ id }] : tx.find(userTokens, { originId }, ALL_TOKENS_LIMIT);
  for (const row of chain) tx.remove(userTokens, row.id, by);
}
