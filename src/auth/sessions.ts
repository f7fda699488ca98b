import brandings from "../resources/branding/brandings.ts";
import type { Feature } from "../resources/devices/features.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Transaction } from "../store/store.ts";
import { findUserProvider } from "./identity-providers.ts";
import type { AccessControl, Principal } from "./principal.ts";
import { readFeatures } from "./session-features.ts";
import { ALL_TOKENS_LIMIT, generateToken } from "./tokens.ts";

/** Minutes without a request after which a session ends unless its user has a value of its own. own choice: 30 */
const DEFAULT_IDLE_TIMEOUT_MIN = 30;
/** What a session lasts at most, however busy. @source decisions.md 3 */
export const MAX_SESSION_MS = 12 * 3_600_000;
/** Sessions of one user at once; a new one ends the oldest. own choice */
const MAX_SESSIONS_PER_USER = 20;

/** What a session may stay unused, ms. */
export function idleTimeoutMs({ idleTimeout }: Pick<RowOf<typeof users>, "idleTimeout">): number {
  return (idleTimeout ?? DEFAULT_IDLE_TIMEOUT_MIN) * 60_000;
}

/** What a session knows of itself, members in API form. @source docs/decisions/0003-authentication.md, Session */
export interface Session {
  accessToken: string | null;
  userId: string;
  providerId: string | null;
  providerName: string | null;
  /** own choice: the organisation's name where its branding has one, else the provider's. */
  providerDisplayName: string | null;
  /** Path that leads a browser to the provider's log-out; null where there is none. own choice */
  logOutPath: string | null;
  email: string | null;
  name: string;
  /** True: this is an appliance. */
  isOnprem: boolean;
  /** Minutes. */
  idleTimeout: number;
  idleTimeoutCustom: boolean;
  features: Feature[];
  serverSupportedFeatures: Feature[];
}

/** Describes the session of `principal`; the one place where a token is given back to whoever holds it. */
export function describeSession(store: Store, access: AccessControl, principal: Principal): Session {
  const { accessToken, userId, email, name } = principal;
  const user = store.getByPk(users, principal.userPk);
  const other = user && findUserProvider(store, user);
  const provider = other ?? access.identityProvider();
  const idleTimeout = user?.idleTimeout ?? null;
  return {
    accessToken,
    userId,
    providerId: provider?.id ?? null,
    providerName: provider?.name ?? null,
    providerDisplayName: store.find(brandings, {}, 1)[0]?.companyName ?? provider?.name ?? null,
    logOutPath: other?.logOut ? `/api/log-in/${other.id}/out` : null,
    email,
    name,
    isOnprem: true,
    idleTimeout: idleTimeout ?? DEFAULT_IDLE_TIMEOUT_MIN,
    idleTimeoutCustom: idleTimeout !== null,
    ...readFeatures(store),
  };
}

/**
 * Begins a session of the console for a user and returns the value of its cookie, which is told here only. What ended
 * unnoticed is cleared away on the way.
 */
export function startUserSession(tx: Transaction, user: RowOf<typeof users>, by: ActorContext, now: number): string {
  const old = tx.find(userTokens, { userId: user.id, kind: "session" });
  const idleMs = idleTimeoutMs(user);
  const live = old.filter(
    (row) => (row.expires ?? 0) > now && now - (row.lastUsedAt ?? row.createdAt) < idleMs + 60_000,
  );
  const kept = new Set(live.slice(-(MAX_SESSIONS_PER_USER - 1)).map(({ id }) => id));
  for (const { id } of old) if (!kept.has(id)) tx.remove(userTokens, id, by);
  const { token, tokenHash } = generateToken();
  const system = { kind: "session", tokenHash, expires: now + MAX_SESSION_MS, lastUsedAt: now } as const;
  tx.create(userTokens, { userId: user.id, name: "Console" }, by, system);
  return token;
}

/** Ends all sessions of a user and what applications may do in its name, as a new password demands. */
export function revokeUserSessions(tx: Transaction, userId: string, by: ActorContext): void {
  for (const { id, kind } of tx.find(userTokens, { userId }, ALL_TOKENS_LIMIT)) {
    if (kind !== "permanent") tx.remove(userTokens, id, by);
  }
}

/** Ends all sessions and tokens of a user, permanent ones too. */
export function revokeAllTokens(tx: Transaction, userId: string, by: ActorContext): void {
  for (const { id } of tx.find(userTokens, { userId }, ALL_TOKENS_LIMIT)) tx.remove(userTokens, id, by);
}

/**
 * Ends a session and returns its id: the presented token is refused from then on. own choice: a permanent token too, as
 * that is the only way in which its holder can give it back.
 */
export async function revokeSession(store: Store, principal: Principal, by: ActorContext): Promise<string> {
  await store.remove(userTokens, principal.tokenId, by);
  return principal.tokenId;
}
