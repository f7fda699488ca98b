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

/** What `createOAuth` needs. */
export interface OAuthServiceDeps {
  store: Store;
  access: AccessControl;
  clock: Clock;
  /** Told when lapsed tokens could not be cleared away. */
  onError(error: unknown): void;
}

/** The parameters of the token endpoint by their OAuth 2 names, without those of the client. */
export interface TokenParameters {
  grantType: string | null;
  audience: string | null;
  scope: string | null;
  code: string | null;
  redirectUri: string | null;
  codeVerifier: string | null;
  refreshToken: string | null;
}

/** Tokens as they are handed out, once. */
export interface IssuedTokens {
  accessToken: string;
  /** Null without offline access. */
  refreshToken: string | null;
  /** Empty: all the rights of the user. */
  scopes: readonly string[];
  /** What the access token lasts; a session of the user ends earlier when it idles. */
  expiresInS: number;
}

/** OAuth 2: applications get tokens. */
export interface OAuthService {
  /** Proofs for the forms of the authorize page. */
  readonly csrfTokens: CsrfTokens;
  /** The user allowed it: returns the address, with a code, that the browser is sent to. */
  approve(request: AuthorizationRequest, principal: Principal, address: string | null): Promise<string>;
  /**
   * Exchanges credentials, a code or a refresh token for tokens. Codes and refresh tokens are good for one exchange: a
   * later one revokes all that came of the first; those that come while the first is under way, and of a refresh token
   * within 10 s after it, are merely refused, as they are one client's. Throws OAuthRequestError.
   */
  exchange(client: ClientCredentials, given: TokenParameters, address: string | null): Promise<IssuedTokens>;
  /** Revokes an application's own token, a refresh token with its chain; others are left alone. Throws `invalid_client`. @source RFC 7009 */
  revoke(client: ClientCredentials, token: string, address: string | null): Promise<void>;
  /** Stops clearing away what has lapsed. */
  close(): void;
}

const CLEANUP_INTERVAL_MS = 3_600_000;
/** Lapsed tokens are kept so long, since a code or refresh token used twice must be known. own choice */
const EXPIRED_RETENTION_MS = 86_400_000;
/** Rows cleared away in one transaction. */
const CLEANUP_CHUNK_SIZE = 25;

/** Makes OAuth 2 over the store. */
export function createOAuthService({ store, access, clock, onError }: OAuthServiceDeps): OAuthService {
  const inProgress = new Set<string>();
  const { scope } = access.systemContext("oauth");
  const actorContextFor = ({ id, name }: { id: string; name: string }, address: string | null): ActorContext => ({
    actor: { kind: "user", userId: id, name, address },
    scope,
  });

  async function deleteExpiredTokens(): Promise<void> {
    const lapsed = store.all<{ id: string }>(
      `SELECT id FROM user_tokens WHERE kind IN ('oauth', 'session', 'device', 'invitation') AND expires < ? LIMIT ${CLEANUP_CHUNK_SIZE}`,
      clock.now() - EXPIRED_RETENTION_MS,
    );
    if (lapsed.length === 0) return;
    await store.write((tx) => {
      for (const { id } of lapsed) if (tx.get(userTokens, id)) tx.remove(userTokens, id, access.systemContext("oauth"));
    });
    if (lapsed.length === CLEANUP_CHUNK_SIZE) clock.defer(() => void deleteExpiredTokens().catch(onError));
  }
  const cleanupTimer = clock.every(CLEANUP_INTERVAL_MS, () => void deleteExpiredTokens().catch(onError));

  function assertAudience(audience: string | null): void {
    if (audience === null || audience === access.identityProvider()?.id) return;
    throw new OAuthRequestError("invalid_request", "The audience is not the id of the identity provider.");
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
      if (key !== null && inProgress.has(key)) throw new OAuthRequestError("invalid_grant", "It is being exchanged.");
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

/** The grants themselves are the library's. Parameters come in several ways, so it gets them as one form. */
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
      // A public client has no secret; which one needs it, `authenticateClient` knows.
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

/** What the library wraps comes out as it was. */
function toRequestError(error: unknown): unknown {
  if (!(error instanceof OAuth2Server.OAuthError)) return error;
  if (KNOWN_ERROR_CODES.has(error.name)) return new OAuthRequestError(error.name as OAuthErrorCode, error.message);
  return (error as { inner?: unknown }).inner ?? new BugError(error.message);
}
