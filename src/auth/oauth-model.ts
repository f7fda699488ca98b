import type OAuth2Server from "@node-oauth/oauth2-server";
import type { Clock } from "../lib/clock.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";
import { isAccountLocked } from "./account-lock.ts";
import { type Application, authenticateClient } from "./oauth-clients.ts";
import { OAuthRequestError } from "./oauth-error.ts";
import { formatScopes, OFFLINE_ACCESS, parseScopes, resolveGrantedScopes } from "./oauth-scopes.ts";
import { MAX_SESSION_MS } from "./sessions.ts";
import { generateToken, hashToken, revokeTokenChain, type UserToken } from "./tokens.ts";

/** Lifetime of an access token with offline access or of client credentials, seconds. */
export const ACCESS_TOKEN_S = 3_600;
/** Lifetime of an unused refresh token, seconds. */
export const REFRESH_TOKEN_S = 30 * 86_400;
/** How long after the log-in refresh tokens work, however often they are used, ms. @source docs/decisions/0400-login-and-sessions.md */
const MAX_REFRESH_MS = 365 * 86_400_000;

/**
 * Grace period after a refresh-token exchange, ms: a reuse within it is refused but does not revoke the chain, because
 * a client may have sent the same request twice.
 */
const REUSE_GRACE_MS = 10_000;

/** The library compares with the system clock; expiry is checked here instead, with the injected clock. */
const NOT_EXPIRED = new Date(8_640_000_000_000_000);

/** Dependencies of one token exchange. */
export interface ExchangeDeps {
  store: Store;
  clock: Clock;
  /** Actor context of the user for whom the tokens are issued. */
  byOf(user: User): ActorContext;
}

type User = RowOf<typeof users>;
type Client = OAuth2Server.Client & { application: Application };
type Model = OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel & OAuth2Server.ClientCredentialsModel;
/** The methods that the grants call; the library's types require more. */
type GrantModel = Pick<
  Model,
  | "getClient"
  | "getUserFromClient"
  | "getAuthorizationCode"
  | "revokeAuthorizationCode"
  | "getRefreshToken"
  | "revokeToken"
  | "validateScope"
  | "generateAccessToken"
  | "generateRefreshToken"
  | "saveToken"
>;

/**
 * The storage model of one token exchange for @node-oauth/oauth2-server. Presenting a code or refresh token a second
 * time revokes its whole chain.
 * @source RFC 6749 §4.1.2, RFC 9700 §4.14.2
 */
export function createExchangeModel(deps: ExchangeDeps): Model {
  const { store } = deps;
  let presented: UserToken | null = null;

  /** The row of a valid code or refresh token, with its user; null if it must be refused. */
  async function redeem(value: string, test: Partial<UserToken>): Promise<{ row: UserToken; user: User } | null> {
    const row = store.find(userTokens, { tokenHash: hashToken(value), kind: "oauth", ...test }, 1)[0];
    const user = row && store.get(users, row.userId);
    if (!row || !user) return null;
    if (row.refreshTokenUsed) {
      // Nothing else updates such a row, so `updatedAt` is the time of the exchange.
      const isStraggler = row.tokenType === "refresh_token" && deps.clock.now() - row.updatedAt < REUSE_GRACE_MS;
      if (!isStraggler) await store.write((tx) => revokeTokenChain(tx, row, deps.byOf(user)));
      return null;
    }
    presented = row;
    return isExpired(row, user, deps.clock.now()) ? null : { row, user };
  }

  const model: GrantModel = {
    getClient: async (clientId, clientSecret) =>
      toOAuthClient(authenticateClient(store, { clientId, clientSecret: clientSecret ?? null })),
    async getUserFromClient(client) {
      const { userId } = (client as Client).application;
      const user = userId === null ? null : store.get(users, userId);
      return user && !isAccountLocked(user.lock, deps.clock.now()) ? user : null;
    },
    async getAuthorizationCode(authorizationCode) {
      const redeemed = await redeem(authorizationCode, { type: "code" });
      if (!redeemed) return null;
      const { scope, redirectUri, codeChallenge } = redeemed.row;
      return {
        ...{ authorizationCode, expiresAt: NOT_EXPIRED, redirectUri: redirectUri ?? "", user: redeemed.user },
        ...(codeChallenge === null ? {} : { codeChallenge, codeChallengeMethod: "S256" }),
        scope: parseScopes(scope),
        client: ownerClientOf(redeemed.row),
      };
    },
    async revokeAuthorizationCode({ user }) {
      if (presented) await markUsed(store, presented, deps.byOf(user as User));
      return true;
    },
    async getRefreshToken(refreshToken) {
      const redeemed = await redeem(refreshToken, { tokenType: "refresh_token" });
      if (!redeemed) return null;
      const { row, user } = redeemed;
      return { refreshToken, scope: parseScopes(row.scope), client: ownerClientOf(row), user };
    },
    // `saveToken` marks it used in the transaction that creates its successor, so a crash cannot lose both.
    revokeToken: async () => true,
    validateScope: async (_user, client, scope) =>
      presented
        ? (scope ?? [])
        : resolveGrantedScopes(parseScopes(scope?.join(" ") ?? null), (client as Client).application),
    generateAccessToken: async () => generateToken().token,
    generateRefreshToken: async () => generateToken().token,
    async saveToken(token, client, user) {
      const { application } = client as Client;
      const issue: TokenIssue = { application, user: user as User, presented, scopes: token.scope ?? [], token };
      const { expiresInS, hasRefreshToken } = await store.write((tx) => writeTokens(tx, issue, deps));
      const refreshToken = hasRefreshToken ? token.refreshToken : undefined;
      return { ...token, refreshToken, expiresInS, client, user } as OAuth2Server.Token;
    },
  };
  return model as Model;
}

interface TokenIssue {
  application: Application;
  user: User;
  /** The presented code or refresh token; null for client credentials. */
  presented: UserToken | null;
  scopes: readonly string[];
  token: OAuth2Server.Token;
}

/** Lifetime of the issued access token, and whether a refresh token was issued. */
interface IssuedTokenInfo {
  expiresInS: number;
  hasRefreshToken: boolean;
}

/**
 * Stores the access token and, with offline access, a refresh token. Without offline access, the token of a user login
 * expires like a console session.
 */
function writeTokens(tx: Transaction, issue: TokenIssue, { clock, byOf }: ExchangeDeps): IssuedTokenInfo {
  const { application, user, presented, scopes, token } = issue;
  const by = byOf(user);
  const now = clock.now();
  if (presented && !tx.get(userTokens, presented.id))
    throw new OAuthRequestError("invalid_grant", "The presented token was revoked.");
  if (presented?.tokenType === "refresh_token") {
    tx.update(userTokens, presented.id, {}, by, { refreshTokenUsed: true });
  }
  const input = { userId: user.id, name: application.name };
  const common = {
    ...({ kind: "oauth", applicationId: application.id, client: application.id } as const),
    ...{ originId: presented?.originId ?? null, originCreatedAt: presented?.originCreatedAt ?? now },
  };
  // A refresh may request fewer scopes; the refresh token keeps the original ones.
  const refreshScope = presented?.tokenType === "refresh_token" ? presented.scope : formatScopes(scopes);
  const hasRefreshToken = presented !== null && parseScopes(refreshScope).includes(OFFLINE_ACCESS);
  const isSession = presented !== null && !hasRefreshToken;
  const expiresInS = isSession ? MAX_SESSION_MS / 1_000 : ACCESS_TOKEN_S;
  tx.create(userTokens, input, by, {
    ...{ ...common, tokenHash: hashToken(token.accessToken), expires: now + expiresInS * 1_000 },
    ...{ scope: formatScopes(scopes), idles: isSession ? 1 : null },
  });
  if (hasRefreshToken && token.refreshToken) {
    tx.create(userTokens, input, by, {
      ...{ ...common, tokenType: "refresh_token", scope: refreshScope },
      tokenHash: hashToken(token.refreshToken),
      expires: Math.min(now + REFRESH_TOKEN_S * 1_000, common.originCreatedAt + MAX_REFRESH_MS),
    });
  }
  return { expiresInS, hasRefreshToken };
}

async function markUsed(store: Store, { id }: UserToken, by: ActorContext): Promise<void> {
  await store.write((tx) => void tx.update(userTokens, id, {}, by, { refreshTokenUsed: true }));
}

function isExpired({ expires }: UserToken, { lock }: User, now: number): boolean {
  return (expires !== null && expires <= now) || isAccountLocked(lock, now);
}

function toOAuthClient(application: Application): Client {
  const grants = ["authorization_code", "refresh_token"];
  if (application.userId !== null) grants.push("client_credentials");
  return { id: application.id, grants, application };
}

function ownerClientOf({ applicationId }: UserToken): OAuth2Server.Client {
  return { id: applicationId ?? "", grants: [] };
}
