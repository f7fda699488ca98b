import { hash, randomBytes } from "node:crypto";
import userTokens from "../resources/people/user-tokens.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";

/** Row of a user's token. */
export type UserToken = RowOf<typeof userTokens>;

/** Prefix by which people and secret scanners recognise a token. */
const PREFIX = "carillon_";
const TOKEN_BYTES = 32;
/**
 * Query limit for "all tokens" of a user or consent: every token must be revoked, and refreshing applications leave
 * thousands behind.
 */
export const ALL_TOKENS_LIMIT = 1_000_000;

/** The stored hash of a token: SHA-256, hex. Lookups by hash need no constant-time comparison. */
export function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}

/** Generates a token of 256 random bits and its hash. */
export function generateToken(): { token: string; tokenHash: string } {
  const token = `${PREFIX}${randomBytes(TOKEN_BYTES).toString("base64url")}`;
  return { token, tokenHash: hashToken(token) };
}

/** The input of a creation with the default expiry, unless it names an expiry or null; `days` null: no expiry. */
export function withDefaultExpiry<Input extends object>(input: Input, days: number | null, now: number): Input {
  if (days === null || ("expires" in input && input.expires !== undefined)) return input;
  return { ...input, expires: new Date(now + days * 86_400_000).toISOString() };
}

/**
 * Creates a token of a user from `name` and optionally `expires` and `addresses` (API form); `scope` limits it. The clear text is returned once
 * and not stored. Throws as every creation does. Delete the row to revoke it.
 */
export async function createToken(
  store: Store,
  userId: string,
  input: object,
  by: ActorContext,
  scope: string | null = null,
): Promise<{ row: UserToken; token: string }> {
  const { token, tokenHash } = generateToken();
  const row = await store.create(userTokens, { ...input, userId }, by, { kind: "permanent", tokenHash, scope });
  return { row, token };
}

/**
 * Revokes a token. A refresh token or code takes its whole chain with it, because it could get new tokens; an access
 * token of an application only with `wholeChain`. Throws not-found.
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

/** Deletes all tokens of the same consent. */
export function revokeTokenChain(tx: Transaction, { id, originId }: UserToken, by: ActorContext): void {
  const chain = originId === null ? [{ id }] : tx.find(userTokens, { originId }, ALL_TOKENS_LIMIT);
  for (const row of chain) tx.remove(userTokens, row.id, by);
}
