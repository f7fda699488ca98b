import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { By, Store } from "../store/store.ts";
import type { Access, Principal } from "./principal.ts";

/** Minutes without a request after which a session ends unless its user has a value of its own. own choice: 30 */
const IDLE_TIMEOUT_MIN = 30;

/** What a session knows of itself, members in API form. @source service-api.md, Session; decisions.md 3 */
export interface Session {
  accessToken: string | null;
  userId: string;
  providerId: string | null;
  providerName: string | null;
  email: string | null;
  name: string;
  /** True: this is an appliance. */
  isOnprem: boolean;
  /** own choice: true while no licence says otherwise. */
  isLicenseValid: boolean;
  /** Minutes. */
  idleTimeout: number;
  idleTimeoutCustom: boolean;
}

/** Describes the session of `principal`; the one place where a token is given back to whoever holds it. */
export function describeSession(store: Store, access: Access, principal: Principal): Session {
  const { accessToken, userId, email, name } = principal;
  const provider = access.identityProvider();
  const idleTimeout = store.byPk(users, principal.userPk)?.idleTimeout ?? null;
  return {
    accessToken,
    userId,
    providerId: provider?.id ?? null,
    providerName: provider?.name ?? null,
    email,
    name,
    isOnprem: true,
    isLicenseValid: true,
    idleTimeout: idleTimeout ?? IDLE_TIMEOUT_MIN,
    idleTimeoutCustom: idleTimeout !== null,
  };
}

/**
 * Ends a session and returns its id: the presented token is refused from then on. own choice: a permanent token too, as
 * that is the only way in which its holder can give it back.
 */
export async function endSession(store: Store, principal: Principal, by: By): Promise<string> {
  if (principal.tokenId === null) return principal.userId;
  await store.remove(userTokens, principal.tokenId, by);
  return principal.tokenId;
}
