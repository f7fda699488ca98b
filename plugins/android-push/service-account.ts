import { createPrivateKey, type KeyObject } from "node:crypto";
import { type Clock, type PluginContext, signJsonWebToken } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Service account from a key file. */
export interface ServiceAccount {
  projectId: string;
  email: string;
  key: KeyObject;
  /** Token endpoint. */
  tokenUrl: string;
}

/** Access tokens of a service account, cached until shortly before they expire. */
export interface AccessTokens {
  /** Resolves with an access token; rejects with `AccountRefusedError` if the account is refused. */
  get(): Promise<string>;
  /** Discards a token that the service refused. If many requests fail at once, only the first causes a renewal. */
  invalidate(token: string): void;
}

/** The account or its key was refused; retrying is useless. */
export class AccountRefusedError extends Error {}

const SCOPE = "https://www.googleapis.com/auth/firebase.messaging";
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/** Maximum lifetime of an assertion. @source Google Identity, OAuth 2.0 for server to server applications */
const ASSERTION_LIFETIME_S = 3_600;
const RENEW_EARLY_MS = 60_000;

/** Parses a key file; null if invalid. */
export function parseServiceAccount(text: string | null): ServiceAccount | null {
  try {
    const { project_id, client_email, private_key, token_uri } = JSON.parse(text ?? "") as Record<string, unknown>;
    if (![project_id, client_email, private_key, token_uri].every((each) => typeof each === "string")) return null;
    const key = createPrivateKey(private_key as string);
    if (key.asymmetricKeyType !== "rsa") return null;
    return { projectId: project_id as string, email: client_email as string, key, tokenUrl: token_uri as string };
  } catch {
    return null;
  }
}

/** Creates the token cache; concurrent callers share one request. @source RFC 7523 §2.1 */
export function createAccessTokens(
  { email, key, tokenUrl }: ServiceAccount,
  { clock, fetch }: { clock: Clock; fetch: PluginContext["fetch"] },
): AccessTokens {
  let cached: { token: Promise<string>; value: string | null; until: number } | null = null;

  const requestToken = async (): Promise<{ value: string; until: number }> => {
    const now = Math.floor(clock.now() / 1_000);
    const claims = { iss: email, scope: SCOPE, aud: tokenUrl, iat: now, exp: now + ASSERTION_LIFETIME_S };
    const body = new URLSearchParams({ grant_type: GRANT, assertion: signJsonWebToken("RS256", {}, claims, key) });
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const response = await fetch(tokenUrl, { method: "POST", headers, body: body.toString() });
    if (response.status >= 400 && response.status < 500 && response.status !== 429) {
      throw new AccountRefusedError(
        sentence("account-refused", { status: response.status, reply: response.body.trim().slice(0, 150) }),
      );
    }
    if (response.status !== 200) throw new Error(sentence("token-failed", { status: response.status }));
    const { access_token, expires_in } = JSON.parse(response.body) as { access_token?: string; expires_in?: number };
    if (!access_token) throw new AccountRefusedError(sentence("token-failed", { status: response.status }));
    return { value: access_token, until: clock.now() + (expires_in ?? ASSERTION_LIFETIME_S) * 1_000 - RENEW_EARLY_MS };
  };

  return {
    get() {
      if (cached && clock.now() < cached.until) return cached.token;
      const asked = requestToken();
      const token = asked.then(({ value }) => value);
      const entry: NonNullable<typeof cached> = { token, value: null, until: Number.POSITIVE_INFINITY };
      cached = entry;
      asked.then(
        (got) => Object.assign(entry, got),
        () => {
          if (cached === entry) cached = null;
        },
      );
      return token;
    },
    invalidate(token) {
      if (cached?.value === token) cached = null;
    },
  };
}
