import { hash, randomBytes } from "node:crypto";
import userTokens from "../resources/people/user-tokens.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Store } from "../store/store.ts";

/** A row of a user's tokens. */
export type UserToken = RowOf<typeof userTokens>;

/** Lets people and secret scanners recognise one of our tokens. */
const PREFIX = "carillon_";
const TOKEN_BYTES = 32;

/** What the row of a token keeps of it: SHA-256, hex. Lookups by it need no constant-time comparison. */
export function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}

/** A new token and its hash; 256 random bits. */
export function newToken(): { token: string; tokenHash: string } {
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
  by: By,
): Promise<{ row: UserToken; token: string }> {
  const { token, tokenHash } = newToken();
  const row = await store.create(userTokens, { ...input, userId }, by, { kind: "permanent", tokenHash });
  return { row, token };
}
