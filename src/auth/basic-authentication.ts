import { createHmac, randomBytes } from "node:crypto";
import { setBounded } from "../lib/bounded-map.ts";
import type { Clock } from "../lib/clock.ts";
import users from "../resources/people/users.ts";
import type { Store } from "../store/store.ts";
import { isAccountLocked } from "./account-lock.ts";
import { isBuiltInEnabled } from "./identity-providers.ts";
import type { LoginService } from "./login.ts";
import type { AccessControl, Principal } from "./principal.ts";
import { secondFactorsOf } from "./second-factors.ts";

/** Log-in by a name and a password in each request, for programs that know no tokens. */
export interface BasicAuthentication {
  /**
   * The user of an Authorization header of the scheme Basic: the password is an access token, with any name, or the local
   * password of the e-mail address. Null for a token that is not valid. Throws CallerError `unauthorized` for a wrong password
   * and for a user who needs more than a password, TooManyRequestsError as a log-in does.
   */
  authenticate(credentials: BasicCredentials, address: string | null): Promise<Principal | null>;
}

/** What a header of the scheme Basic contains. */
export interface BasicCredentials {
  name: string;
  password: string;
}

export interface BasicAuthenticationDeps {
  store: Store;
  access: Pick<AccessControl, "authenticate" | "requiresSecondFactor">;
  signIn: Pick<LoginService, "verifyPassword">;
  clock: Clock;
}

/** A program that polls must not fill the audit log, nor hash a password each time. */
const REMEMBERED_MS = 15 * 60_000;
const MAX_REMEMBERED = 1_000;
const HEADER_PATTERN = /^basic +([\w+/]+=*) *$/i;
const TOKEN_PATTERN = /^carillon_/;

/** Creates it; verified passwords are remembered as keyed hashes, in memory only. */
export function createBasicAuthentication({
  store,
  access,
  signIn,
  clock,
}: BasicAuthenticationDeps): BasicAuthentication {
  const key = randomBytes(32);
  const verified = new Map<string, { userId: string; passwordChangedAt: number | null; until: number }>();
  return {
    async authenticate({ name, password }, address) {
      if (TOKEN_PATTERN.test(password)) return access.authenticate(password, "bearer", true, address);
      const digest = createHmac("sha256", key).update(`${name}\0${password}`).digest("base64url");
      const known = verified.get(digest);
      const now = clock.now();
      if (known && now < known.until) {
        const principal = principalOf(known.userId, known.passwordChangedAt);
        if (principal) return principal;
      }
      verified.delete(digest);
      const userId = await signIn.verifyPassword({ email: name, password }, address);
      const principal = principalOf(userId, undefined);
      const passwordChangedAt = store.get(users, userId)?.passwordChangedAt ?? null;
      if (principal)
        setBounded(verified, digest, { userId, passwordChangedAt, until: now + REMEMBERED_MS }, MAX_REMEMBERED);
      return principal;
    },
  };

  /** The user, if the password still suffices; `passwordChangedAt` is that of the verification, or undefined. */
  function principalOf(userId: string, passwordChangedAt: number | null | undefined): Principal | null {
    const user = store.get(users, userId);
    if (!user || isAccountLocked(user.lock, clock.now())) return null;
    if (passwordChangedAt !== undefined && user.passwordChangedAt !== passwordChangedAt) return null;
    if (user.passwordResetRequired || user.breakGlass || !isBuiltInEnabled(store)) return null;
    if (access.requiresSecondFactor(user.pk) || secondFactorsOf(store, user.id).length > 0) return null;
    const { pk: userPk, name, email } = user;
    return { userId, userPk, name, email, tokenId: "", scopes: null, accessToken: null };
  }
}

/** Name and password of an Authorization header; null for another scheme. @source RFC 7617 §2 */
export function basicCredentialsIn(authorization: string | null): BasicCredentials | null {
  const encoded = authorization === null ? undefined : HEADER_PATTERN.exec(authorization)?.[1];
  if (encoded === undefined) return null;
  const text = Buffer.from(encoded, "base64").toString("utf8");
  const colon = text.indexOf(":");
  return colon < 0 ? null : { name: text.slice(0, colon), password: text.slice(colon + 1) };
}
