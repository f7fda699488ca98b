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

/** Default idle timeout of a session, minutes. */
const DEFAULT_IDLE_TIMEOUT_MIN = 30;
/** Maximum lifetime of a session, even if it is in use. @source docs/decisions/0003-authentication.md, Session */
export const MAX_SESSION_MS = 12 * 3_600_000;
/** Maximum number of concurrent sessions of one user; a new one ends the oldest. */
const MAX_SESSIONS_PER_USER = 20;

/** Idle timeout of a user's sessions, ms. */
export function idleTimeoutMs({ idleTimeout }: Pick<RowOf<typeof users>, "idleTimeout">): number {
  return (idleTimeout ?? DEFAULT_IDLE_TIMEOUT_MIN) * 60_000;
}

/** A session in API form. @source docs/decisions/0003-authentication.md, Session */
export interface Session {
  accessToken: string | null;
  userId: string;
  providerId: string | null;
  providerName: string | null;
  /** Company name of the branding, else the provider's name. */
  providerDisplayName: string | null;
  /** Path that redirects to the provider's logout; null if it has none. */
  logOutPath: string | null;
  email: string | null;
  name: string;
  /** Always true on an appliance. */
  isOnprem: boolean;
  /** Minutes. */
  idleTimeout: number;
  idleTimeoutCustom: boolean;
  /** The session allows nothing but to set up the second factor that is required of the user. */
  mustSetUpSecondFactor: boolean;
  features: Feature[];
  serverSupportedFeatures: Feature[];
}

/** Describes the session of `principal`. The only place that returns a token to its holder. */
export function describeSession(store: Store, access: AccessControl, principal: Principal): Session {
  const { accessToken, userId, email, name } = principal;
  const user = store.getByPk(users, principal.userPk);
  const external = user && findUserProvider(store, user);
  const provider = external ?? access.identityProvider();
  const idleTimeout = user?.idleTimeout ?? null;
  return {
    accessToken,
    userId,
    providerId: provider?.id ?? null,
    providerName: provider?.name ?? null,
    providerDisplayName: store.find(brandings, {}, 1)[0]?.companyName ?? provider?.name ?? null,
    logOutPath: external?.logOut ? `/api/log-in/${external.id}/out` : null,
    email,
    name,
    isOnprem: true,
    idleTimeout: idleTimeout ?? DEFAULT_IDLE_TIMEOUT_MIN,
    idleTimeoutCustom: idleTimeout !== null,
    mustSetUpSecondFactor: principal.scopes?.includes(FACTOR_SETUP_SCOPE) ?? false,
    ...readFeatures(store),
  };
}

/**
 * Scope of a session whose user must first set up a second factor: it allows nothing else. Applications cannot request it.
 */
export const FACTOR_SETUP_SCOPE = "urn:service:factor-setup";

/**
 * Starts a console session and returns the cookie value, which is not stored in clear text; `scope` limits it. Deletes
 * expired sessions of the user.
 */
export function startUserSession(
  tx: Transaction,
  user: RowOf<typeof users>,
  by: ActorContext,
  { now, scope }: { now: number; scope: string | null },
): string {
  const old = tx.find(userTokens, { userId: user.id, kind: "session" });
  const idleMs = idleTimeoutMs(user);
  const live = old.filter(
    (row) => (row.expires ?? 0) > now && now - (row.lastUsedAt ?? row.createdAt) < idleMs + 60_000,
  );
  const keptIds = new Set(live.slice(-(MAX_SESSIONS_PER_USER - 1)).map(({ id }) => id));
  for (const { id } of old) if (!keptIds.has(id)) tx.remove(userTokens, id, by);
  const { token, tokenHash } = generateToken();
  const times = { expires: now + MAX_SESSION_MS, lastUsedAt: now, provenAt: now };
  const system = { kind: "session", tokenHash, scope, ...times } as const;
  tx.create(userTokens, { userId: user.id, name: "Console" }, by, system);
  return token;
}

/** Revokes all sessions and application tokens of a user, as after a password change; permanent tokens stay. */
export function revokeUserSessions(tx: Transaction, userId: string, by: ActorContext): void {
  for (const { id, kind } of tx.find(userTokens, { userId }, ALL_TOKENS_LIMIT)) {
    if (kind !== "permanent") tx.remove(userTokens, id, by);
  }
}

/**
 * Revokes all sessions and tokens of a user, including permanent tokens, invitations and the grants of applications.
 * Returns their number.
 */
export function revokeAllTokens(tx: Transaction, userId: string, by: ActorContext): number {
  const tokens = tx.find(userTokens, { userId }, ALL_TOKENS_LIMIT);
  for (const { id } of tokens) tx.remove(userTokens, id, by);
  return tokens.length;
}

/**
 * Revokes the presented token and returns its id. This includes permanent tokens: it is the only way in which a holder
 * can revoke one.
 */
export async function revokeSession(store: Store, principal: Principal, by: ActorContext): Promise<string> {
  await store.remove(userTokens, principal.tokenId, by);
  return principal.tokenId;
}
