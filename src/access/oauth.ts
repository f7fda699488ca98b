import OAuth2Server from "@node-oauth/oauth2-server";
import type { Clock } from "../base/clock.ts";
import { BugError } from "../base/errors.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { By, Store } from "../store/store.ts";
import { type AuthorizationRequest, issueCode } from "./authorization.ts";
import { authenticateClient, type ClientCredentials } from "./clients.ts";
import { createFormTokens, type FormTokens } from "./form-tokens.ts";
import { ACCESS_TOKEN_S, exchangeModel, REFRESH_TOKEN_S } from "./oauth-model.ts";
import { type OAuthError, OAuthRefusal } from "./oauth-refusal.ts";
import type { Access, Principal } from "./principal.ts";
import { hashToken, revokeToken } from "./tokens.ts";

/** What `createOAuth` needs. */
export interface OAuthNeeds {
  store: Store;
  access: Access;
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
export interface OAuth {
  /** Proofs for the forms of the authorize page. */
  readonly forms: FormTokens;
  /** The user allowed it: returns the address, with a code, that the browser is sent to. */
  allow(request: AuthorizationRequest, principal: Principal, address: string | null): Promise<string>;
  /**
   * Exchanges credentials, a code or a refresh token for tokens. Codes and refresh tokens are good for one exchange: a
   * later one revokes all that came of the first; those that come while the first is under way, and of a refresh token
   * within 10 s after it, are merely refused, as they are one client's. Throws OAuthRefusal.
   */
  exchange(client: ClientCredentials, given: TokenParameters, address: string | null): Promise<IssuedTokens>;
  /** Revokes an application's own token, a refresh token with its chain; others are left alone. Throws `invalid_client`. @source RFC 7009 */
  revoke(client: ClientCredentials, token: string, address: string | null): Promise<void>;
  /** Stops clearing away what has lapsed. */
  close(): void;
}

const CLEARING_MS = 3_600_000;
/** Lapsed tokens are kept so long, since a code or refresh token used twice must be known. own choice */
const MEMORY_MS = 86_400_000;
/** Rows cleared away in one transaction. */
const SLICE = 25;

/** Makes OAuth 2 over the store. */
export function createOAuth({ store, access, clock, onError }: OAuthNeeds): OAuth {
  const underWay = new Set<string>();
  const { scope } = access.systemBy("oauth");
  const byOf = ({ id, name }: { id: string; name: string }, address: string | null): By => ({
    actor: { kind: "user", userId: id, name, address },
    scope,
  });

  async function clear(): Promise<void> {
    const lapsed = store.all<{ id: string }>(
      `SELECT id FROM user_tokens WHERE kind IN ('oauth', 'session', 'device', 'invitation') AND expires < ? LIMIT ${SLICE}`,
      clock.now() - MEMORY_MS,
    );
    if (lapsed.length === 0) return;
    await store.write((tx) => {
      for (const { id } of lapsed) if (tx.get(userTokens, id)) tx.remove(userTokens, id, access.systemBy("oauth"));
    });
    if (lapsed.length === SLICE) clock.soon(() => void clear().catch(onError));
  }
  const clearing = clock.every(CLEARING_MS, () => void clear().catch(onError));

  function refuseOtherAudience(audience: string | null): void {
    if (audience === null || audience === access.identityProvider()?.id) return;
    throw new OAuthRefusal("invalid_request", "The audience is not the id of the identity provider.");
  }

  return {
    forms: createFormTokens(clock),
    allow: (request, { userId, name }, address) =>
      store.write((tx) => issueCode(tx, request, userId, byOf({ id: userId, name }, address), clock.now())),
    async exchange(client, given, address) {
      refuseOtherAudience(given.audience);
      const value = given.code ?? given.refreshToken;
      const key = value === null ? null : hashToken(value);
      if (key !== null && underWay.has(key)) throw new OAuthRefusal("invalid_grant", "It is being exchanged.");
      if (key !== null) underWay.add(key);
      try {
        return await grant(exchangeModel({ store, clock, byOf: (user) => byOf(user, address) }), client, given);
      } finally {
        if (key !== null) underWay.delete(key);
      }
    },
    async revoke(client, token, address) {
      const application = authenticateClient(store, client);
      const row = store.find(userTokens, { tokenHash: hashToken(token), applicationId: application.id }, 1)[0];
      const user = row && store.get(users, row.userId);
      if (row && user) await revokeToken(store, row, false, byOf(user, address));
    },
    close: () => clearing.cancel(),
  };
}

/** The grants themselves are the library's. Parameters come in several ways, so it gets them as one form. */
async function grant(
  model: ReturnType<typeof exchangeModel>,
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
    throw refusalOf(error);
  }
}

const NAMES: ReadonlySet<string> = new Set<OAuthError>([
  "invalid_client",
  "invalid_grant",
  "invalid_request",
  "invalid_scope",
  "unauthorized_client",
  "unsupported_grant_type",
]);

/** What the library wraps comes out as it was. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof OAuth2Server.OAuthError)) return error;
  if (NAMES.has(error.name)) return new OAuthRefusal(error.name as OAuthError, error.message);
  return (error as { inner?: unknown }).inner ?? new BugError(error.message);
}
