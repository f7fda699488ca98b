import { createPrivateKey, type KeyObject } from "node:crypto";
import { type Clock, type PluginContext, signJsonWebToken } from "#plugin-api";

/** What a service account's key file says. */
export interface ServiceAccount {
  projectId: string;
  email: string;
  key: KeyObject;
  /** Where tokens are had. */
  tokenUrl: string;
}

/** Tokens of a service account, each used until shortly before its end. */
export interface AccessTokens {
  /** A token; rejects with a `Refusal` where the account itself is refused. */
  get(): Promise<string>;
  /** The service has refused this token; of many that are refused at once, the first alone has another got. */
  invalidate(token: string): void;
}

/** The account or its key is refused, in words: no further try would fare better. */
export class AccountRefusedError extends Error {}

const SCOPE = "https://www.googleapis.com/auth/firebase.messaging";
const GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/** The longest that a request for a token may be good. @source OAuth 2.0 for server to server applications */
const ASSERTION_LIFETIME_S = 3_600;
const RENEW_EARLY_MS = 60_000;

/** Reads a key file; null for what is none. */
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

/** Makes the account's tokens; those who ask at once share one request. @source RFC 7523 §2.1 */
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
    const answer = await fetch(tokenUrl, { method: "POST", headers, body: body.toString() });
    if (answer.status >= 400 && answer.status < 500 && answer.status !== 429) {
      throw new AccountRefusedError(
        `the service account is refused (${answer.status}: ${answer.body.trim().slice(0, 150)})`,
      );
    }
    if (answer.status !== 200) throw new Error(`no token is given (${answer.status})`);
    const { access_token, expires_in } = JSON.parse(answer.body) as { access_token?: string; expires_in?: number };
    if (!access_token) throw new AccountRefusedError(`no token is given (${answer.status})`);
    return { value: access_token, until: clock.now() + (expires_in ?? ASSERTION_LIFETIME_S) * 1_000 - RENEW_EARLY_MS };
  };

  return {
    get() {
      if (cached && clock.now() < cached.until) return cached.token;
      const asked = requestToken();
      const token = asked.then(({ value }) => value);
      const mine: NonNullable<typeof cached> = { token, value: null, until: Number.POSITIVE_INFINITY };
      cached = mine;
      asked.then(
        (got) => Object.assign(mine, got),
        () => {
          if (cached === mine) cached = null;
        },
      );
      return token;
    },
    invalidate(token) {
      if (cached?.value === token) cached = null;
    },
  };
}
