import type { IdentityProviderRow } from "../auth/identity-providers.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { readClaimTexts } from "./claim-values.ts";
import { LoginError } from "./login-error.ts";
import type { LogoutNotice } from "./provider.ts";

/** @source OpenID Connect Back-Channel Logout 1.0 §2.4 */
const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";
/** Asymmetric algorithms; a provider's public keys verify them. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
/** Maximum age of a token, beside the allowed clock skew. */
const MAX_AGE_S = 600;

/** What is known of the provider. */
interface LogoutTokenIssuer {
  issuer: string;
  /** Reads its keys. */
  fetchKeys(): Promise<unknown>;
}

/**
 * Validates a logout token and returns whose sessions end. Keys are read only for a token that claims to be one of this
 * provider for this client, since anyone may post one. Throws LoginError.
 * @source OpenID Connect Back-Channel Logout 1.0 §2.6
 */
export async function readLogoutToken(
  row: IdentityProviderRow,
  token: string,
  { issuer, fetchKeys }: LogoutTokenIssuer,
  now: number,
): Promise<LogoutNotice> {
  const { createLocalJWKSet, decodeJwt, errors, jwtVerify } = await import("jose");
  const audience = row.clientId ?? "";
  const invalid = (): LoginError => new LoginError("answer", sentence("login.logout-token-invalid"));
  try {
    const claimed = decodeJwt(token);
    const isForUs = claimed.iss === issuer && [claimed.aud].flat().includes(audience);
    if (!isForUs) throw new LoginError("audience", sentence("login.logout-token-audience"));
    const { events, nonce } = claimed as { events?: unknown; nonce?: unknown };
    const isLogout = typeof events === "object" && events !== null && Object.hasOwn(events, LOGOUT_EVENT);
    // A nonce would make it an ID token.
    if (!isLogout || nonce !== undefined) throw invalid();
    const keys = createLocalJWKSet((await fetchKeys()) as Parameters<typeof createLocalJWKSet>[0]);
    const { payload } = await jwtVerify(token, keys, {
      ...{ issuer, audience, algorithms: ALGORITHMS, requiredClaims: ["iat", "jti"] },
      ...{ clockTolerance: row.clockToleranceInSecs, maxTokenAge: MAX_AGE_S, currentDate: new Date(now) },
    });
    const sessionKeys = sessionKeysOf(payload);
    const [id] = readClaimTexts(payload.jti);
    if (sessionKeys.length === 0 || id === undefined) throw invalid();
    return { id, sessionKeys, until: now + 2 * (MAX_AGE_S + row.clockToleranceInSecs) * 1_000 };
  } catch (error) {
    if (!(error instanceof errors.JOSEError)) throw error;
    const isLate = error instanceof errors.JWTExpired || error.message.includes('"iat"');
    const isUnsigned = /SIGNATURE|JWKS|ALG/.test(error.code);
    if (isUnsigned) throw new LoginError("signature", sentence("login.logout-token-signature"));
    throw isLate ? new LoginError("expired", sentence("login.logout-token-expired")) : invalid();
  }
}

/** What a provider may name a session by in a logout token: its session id, and the user. */
export function sessionKeysOf(claims: Readonly<Record<string, unknown>>): string[] {
  return ["sid", "sub"].flatMap((name) => readClaimTexts(claims[name]).map((value) => `${name} ${value}`));
}
