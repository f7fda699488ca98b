import OAuth2Server from "@node-oauth/oauth2-server";
import type { Clock } from "../lib/clock.ts";
import { BugError } from "../lib/errors.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { ActorContext, Store } from "../store/store.ts";
import { type CsrfTokens, createCsrfTokens } from "./csrf-tokens.ts";
import { type AuthorizationRequest, issueAuthorizationCode } from "./oauth-authorization.ts";
import { authenticateClient, type ClientCredentials } from "./oauth-clients.ts";
import { type OAuthErrorCode, OAuthRequestError } from "./oauth-error.ts";
import { ACCESS_TOKEN_S, createExchangeModel, REFRESH_TOKEN_S } from "./oauth-model.ts";
import type { AccessControl, Principal } from "./principal.ts";
import { hashToken, revokeToken } from "./tokens.ts";

/** Dependencies of the OAuth service. */
export interface OAuthServiceDeps {
  store: Store;
  access: AccessControl;
  clock: Clock;
  /** Called when the cleanup of expired tokens failed. */
  onError(error: unknown): void;
}

/** Parameters of the token endpoint, without the client credentials. */
export interface TokenParameters {
  grantType: string | null;
  audience: string | null;
  scope: string | null;
  code: string | null;
  redirectUri: string | null;
  codeVerifier: string | null;
  refreshToken: string | null;
}

/** Issued tokens in clear text; only hashes are stored. */
export interface IssuedTokens {
  accessToken: string;
  /** Null without offline access. */
  refreshToken: string | null;
  /** Empty: all rights of the user. */
  scopes: readonly string[];
  /** Lifetime of the access token, seconds; a session ends earlier after the idle timeout. */
  expiresInS: number;
}

/** OAuth 2 authorization server. */
export interface OAuthService {
  /** CSRF tokens of the authorize page. */
  readonly csrfTokens: CsrfTokens;
  /** Records the user's consent; returns the redirect URI with an authorization code. */
  approve(request: AuthorizationRequest, principal: Principal, address: string | null): Promise<string>;
  /**
   * Exchanges client credentials, a code or a refresh token for tokens. Codes and refresh tokens are single use: a
   * later reuse revokes the whole chain. A concurrent exchange of the same token, and a reuse of a refresh token within
   * 10 s, is only refused. Throws OAuthRequestError.
   */
  exchange(client: ClientCredentials, given: TokenParameters, address: string | null): Promise<IssuedTokens>;
  /**
   * Revokes a token of the application, a refresh token with its chain; tokens of others are ignored. Throws
   * `invalid_client`. @source RFC 7009
   */
  revoke(client: ClientCredentials, token: string, address: string | null): Promise<void>;
  /** Stops the cleanup of expired tokens. */
  close(): void;
}

const CLEANUP_INTERVAL_MS = 3_600_000;
/** Retention of expired tokens: a reused code or refresh token must still be recognised. */
const EXPIRED_RETENTION_MS = 86_400_000;
/** Rows deleted in one transaction. */
const CLEANUP_CHUNK_SIZE = 25;

/** Creates the OAuth service. */
export function createOAuthService({ store, access, clock, onError }: OAuthServiceDeps): OAuthService {
  const inProgress = new Set<string>();
  const { scope } = access.systemContext("oauth");
  const actorContextFor = ({ id, name }: { id: string; name: string }, address: string | null): ActorContext => ({
    actor: { kind: "user", userId: id, name, address },
    scope,
  });

  async function deleteExpiredTokens(): Promise<void> {
    const expired = store.all<{ id: string }>(
      `SELECT id FROM user_tokens WHERE kind IN ('oauth', 'session', 'device', 'invitation') AND expires < ? LIMIT ${CLEANUP_CHUNK_SIZE}`,
      clock.now() - EXPIRED_RETENTION_MS,
    );
    if (expired.length === 0) return;
    await store.write((tx) => {
      for (const { id } of expired)
        if (tx.get(userTokens, id)) tx.remove(userTokens, id, access.systemContext("oauth"));
    });
    if (expired.length === CLEANUP_CHUNK_SIZE) clock.defer(() => void deleteExpiredTokens().catch(onError));
  }
  const cleanupTimer = clock.every(CLEANUP_INTERVAL_MS, () => void deleteExpiredTokens().catch(onError));

  function assertAudience(audience: string | null): void {
    if (audience === null || audience === access.identityProvider()?.id) return;
    throw new OAuthRequestError("invalid_request", "audience must be the id of the identity provider.");
  }

  return {
    csrfTokens: createCsrfTokens(clock),
    approve: (request, { userId, name }, address) =>
      store.write((tx) =>
        issueAuthorizationCode(tx, request, userId, actorContextFor({ id: userId, name }, address), clock.now()),
      ),
    async exchange(client, given, address) {
      assertAudience(given.audience);
      const value = given.code ?? given.refreshToken;
      const key = value === null ? null : hashToken(value);
      if (key !== null && inProgress.has(key))
        throw new OAuthRequestError("invalid_grant", "The token is already being exchanged.");
      if (key !== null) inProgress.add(key);
      try {
        return await executeGrant(
          createExchangeModel({ store, clock, byOf: (user) => actorContextFor(user, address) }),
          client,
          given,
        );
      } finally {
        if (key !== null) inProgress.delete(key);
      }
    },
    async revoke(client, token, address) {
      const application = authenticateClient(store, client);
      const row = store.find(userTokens, { tokenHash: hashToken(token), applicationId: application.id }, 1)[0];
      const user = row && store.get(users, row.userId);
      if (row && user) await revokeToken(store, row, false, actorContextFor(user, address));
    },
    close: () => cleanupTimer.cancel(),
  };
}

/** Runs the grant in the library. It receives the parameters as one form, whatever their source. */
async function executeGrant(
  model: ReturnType<typeof createExchangeModel>,
  { clientId, clientSecret }: ClientCredentials,
  given: TokenParameters,
): Promise<IssuedTokens> {
  const all = {
    ...{ client_id: clientId, client_secret: clientSecret, grant_type: given.grantType, scope: given.scope },
    ...{ code: given.code, redirect_uri: given.redirectUri, code_verifier: given.codeVerifier },
    refresh_token: given.refreshToken,
  };
  const request = new OAuth2Server.Request({
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", "content-length": "1" },
    query: {},
    body: Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null)),
  });
  try {
    const token = await new OAuth2Server({ model }).token(request, new OAuth2Server.Response(), {
      accessTokenLifetime: ACCESS_TOKEN_S,
      refreshTokenLifetime: REFRESH_TOKEN_S,
      // `authenticateClient` decides whether a secret is needed: public clients have none.
      requireClientAuthentication: { authorization_code: false, refresh_token: false },
    });
    const { accessToken, refreshToken = null, scope: scopes = [] } = token;
    return { accessToken, refreshToken, scopes, expiresInS: token.expiresInS as number };
  } catch (error) {
    throw toRequestError(error);
  }
}

const KNOWN_ERROR_CODES: ReadonlySet<string> = new Set<OAuthErrorCode>([
  "invalid_client",
  "invalid_grant",
  "invalid_request",
  "invalid_scope",
  "unauthorized_client",
  "unsupported_grant_type",
]);

/** Unwraps errors that the library wrapped. */
function toRequestError(error: unknown): unknown {
  if (!(error instanceof OAuth2Server.OAuthError)) return error;
  if (KNOWN_ERROR_CODES.has(error.name)) return new OAuthRequestError(error.name as OAuthErrorCode, error.message);
  return (error as { inner?: unknown }).inner ?? new BugError(error.message);
}
