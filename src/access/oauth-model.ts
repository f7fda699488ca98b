import type OAuth2Server from "@node-oauth/oauth2-server";
import type { Clock } from "../base/clock.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Store, Transaction } from "../store/store.ts";
import { type Application, authenticateClient } from "./clients.ts";
import { isLocked } from "./locks.ts";
import { OAuthRefusal } from "./oauth-refusal.ts";
import { OFFLINE_ACCESS, scopesGranted, scopesIn, scopeText } from "./scopes.ts";
import { LONGEST_SESSION_MS } from "./session.ts";
import { hashToken, newToken, revokeChain, type UserToken } from "./tokens.ts";

/** What an access token lasts with offline access or by client credentials, s. own choice: an hour, as more can be had. */
export const ACCESS_TOKEN_S = 3_600;
/** What a refresh token lasts unused, s. own choice: 30 days. */
export const REFRESH_TOKEN_S = 30 * 86_400;

/**
 * For so long after its exchange a refresh token is merely refused, ms: a client that asked twice at once, and was slower
 * with one of the two, is no thief. own choice: 10 s.
 */
const GRACE_MS = 10_000;

/** The library compares with the system's clock; what is expired is found here, by the clock that was handed over. */
const NOT_EXPIRED = new Date(8_640_000_000_000_000);

/** What one exchange for tokens works with. */
export interface ExchangeNeeds {
  store: Store;
  clock: Clock;
  /** For the audit: the user in whose name the tokens are made. */
  byOf(user: User): By;
}

type User = RowOf<typeof users>;
type Client = OAuth2Server.Client & { application: Application };
type Model = OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel & OAuth2Server.ClientCredentialsModel;
/** What the grants call; the library's types ask for what its other parts call, too. */
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
 * The rows behind one exchange, as the library's grants ask for them. What is presented a second time revokes all that
 * came of it. @source RFC 6749 §4.1.2, RFC 9700 §4.14.2
 */
export function exchangeModel(needs: ExchangeNeeds): Model {
  const { store } = needs;
  let presented: UserToken | null = null;

  /** The row of a code or refresh token that may be exchanged, with its user; null without. */
  async function take(value: string, test: Partial<UserToken>): Promise<{ row: UserToken; user: User } | null> {
    const row = store.find(userTokens, { tokenHash: hashToken(value), kind: "oauth", ...test }, 1)[0];
    const user = row && store.get(users, row.userId);
    if (!row || !user) return null;
    if (row.refreshTokenUsed) {
      // Nothing else changes such a row, so that is when it was exchanged.
      const isStraggler = row.tokenType === "refresh_token" && needs.clock.now() - row.updatedAt < GRACE_MS;
      if (!isStraggler) await store.write((tx) => revokeChain(tx, row, needs.byOf(user)));
      return null;
    }
    presented = row;
    return isLapsed(row, user, needs.clock.now()) ? null : { row, user };
  }

  const model: GrantModel = {
    getClient: async (clientId, clientSecret) =>
      clientOf(authenticateClient(store, { clientId, clientSecret: clientSecret ?? null })),
    async getUserFromClient(client) {
      const { userId } = (client as Client).application;
      const user = userId === null ? null : store.get(users, userId);
      return user && !isLocked(user.lock, needs.clock.now()) ? user : null;
    },
    async getAuthorizationCode(authorizationCode) {
      const taken = await take(authorizationCode, { type: "code" });
      if (!taken) return null;
      const { scope, redirectUri, codeChallenge } = taken.row;
      return {
        ...{ authorizationCode, expiresAt: NOT_EXPIRED, redirectUri: redirectUri ?? "", user: taken.user },
        ...(codeChallenge === null ? {} : { codeChallenge, codeChallengeMethod: "S256" }),
        scope: scopesIn(scope),
        client: ownerOf(taken.row),
      };
    },
    async revokeAuthorizationCode({ user }) {
      if (presented) await spend(store, presented, needs.byOf(user as User));
      return true;
    },
    async getRefreshToken(refreshToken) {
      const taken = await take(refreshToken, { tokenType: "refresh_token" });
      if (!taken) return null;
      return { refreshToken, scope: scopesIn(taken.row.scope), client: ownerOf(taken.row), user: taken.user };
    },
    // It is spent with the same commit that makes its successor, so that no crash takes both.
    revokeToken: async () => true,
    validateScope: async (_user, client, scope) =>
      presented ? (scope ?? []) : scopesGranted(scopesIn(scope?.join(" ") ?? null), (client as Client).application),
    generateAccessToken: async () => newToken().token,
    generateRefreshToken: async () => newToken().token,
    async saveToken(token, client, user) {
      const { application } = client as Client;
      const issue: Issue = { application, user: user as User, presented, scopes: token.scope ?? [], token };
      const { expiresInS, isLasting } = await store.write((tx) => writeTokens(tx, issue, needs));
      const refreshToken = isLasting ? token.refreshToken : undefined;
      return { ...token, refreshToken, expiresInS, client, user } as OAuth2Server.Token;
    },
  };
  return model as Model;
}

interface Issue {
  application: Application;
  user: User;
  /** What is exchanged; null for an application that acts by itself. */
  presented: UserToken | null;
  scopes: readonly string[];
  token: OAuth2Server.Token;
}

/** What was written: how long the access token lasts, and whether there is a refresh token. */
interface Written {
  expiresInS: number;
  isLasting: boolean;
}

/** Writes access token and, for offline access, refresh token. Without it, a log-in is a session like the console's. */
function writeTokens(tx: Transaction, issue: Issue, { clock, byOf }: ExchangeNeeds): Written {
  const { application, user, presented, scopes, token } = issue;
  const by = byOf(user);
  const now = clock.now();
  if (presented && !tx.get(userTokens, presented.id)) throw new OAuthRefusal("invalid_grant", "It was revoked.");
  if (presented?.tokenType === "refresh_token") {
    tx.update(userTokens, presented.id, {}, by, { refreshTokenUsed: true });
  }
  const input = { userId: user.id, name: application.name };
  const common = {
    ...({ kind: "oauth", applicationId: application.id, client: application.id } as const),
    ...{ originId: presented?.originId ?? null, originCreatedAt: presented?.originCreatedAt ?? now },
  };
  // A refreshed token may ask for less, which does not narrow what the next one may ask for.
  const lasting = presented?.tokenType === "refresh_token" ? presented.scope : scopeText(scopes);
  const isLasting = presented !== null && scopesIn(lasting).includes(OFFLINE_ACCESS);
  const isSession = presented !== null && !isLasting;
  const expiresInS = isSession ? LONGEST_SESSION_MS / 1_000 : ACCESS_TOKEN_S;
  tx.create(userTokens, input, by, {
    ...{ ...common, tokenHash: hashToken(token.accessToken), expires: now + expiresInS * 1_000 },
    ...{ scope: scopeText(scopes), idles: isSession ? 1 : null },
  });
  if (isLasting && token.refreshToken) {
    tx.create(userTokens, input, by, {
      ...{ ...common, tokenType: "refresh_token", scope: lasting },
      ...{ tokenHash: hashToken(token.refreshToken), expires: now + REFRESH_TOKEN_S * 1_000 },
    });
  }
  return { expiresInS, isLasting };
}

async function spend(store: Store, { id }: UserToken, by: By): Promise<void> {
  await store.write((tx) => void tx.update(userTokens, id, {}, by, { refreshTokenUsed: true }));
}

function isLapsed({ expires }: UserToken, { lock }: User, now: number): boolean {
  return (expires !== null && expires <= now) || isLocked(lock, now);
}

function clientOf(application: Application): Client {
  const grants = ["authorization_code", "refresh_token"];
  if (application.userId !== null) grants.push("client_credentials");
  return { id: application.id, grants, application };
}

function ownerOf({ applicationId }: UserToken): OAuth2Server.Client {
  return { id: applicationId ?? "", grants: [] };
}
