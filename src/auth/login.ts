import { isIP } from "node:net";
import type { Clock } from "../lib/clock.ts";
import {
  CallerError,
  ConflictError,
  invalidValue,
  notFound,
  requiredValue,
  TooManyRequestsError,
} from "../lib/errors.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store } from "../store/store.ts";
import { isAccountLocked } from "./account-lock.ts";
import { createAttemptThrottle } from "./attempt-throttle.ts";
import { findUserProvider, type VerifyWithProviders, verifyLocalPassword } from "./identity-providers.ts";
import { hashPassword } from "./passwords.ts";
import type { AccessControl } from "./principal.ts";
import { startUserSession } from "./sessions.ts";

/** Dependencies of the login service. */
export interface LoginServiceDeps {
  store: Store;
  access: AccessControl;
  clock: Clock;
  /** Verifies passwords with other identity providers; default: none. */
  verifyWithProviders?: VerifyWithProviders;
}

/** Credentials of a login. */
export interface LoginCredentials {
  email: string;
  password: string;
  /** Used only if the user must set a new password. */
  newPassword?: string | null;
}

/** A change of a user's password. */
export interface PasswordChange {
  userId: string;
  password: string;
  /** Required when users change their own password. */
  currentPassword: string | null;
}

/** Login for the console and the authorize page, with one login throttle for both. */
export interface LoginService {
  /**
   * Starts a session and returns the value of its cookie. Throws CallerError `unauthorized` with the same message for
   * every cause, TooManyRequestsError when the login throttle for the account or the address applies, UpstreamError
   * when the account's directory cannot be reached, and `required` or `invalid-value` on `newPassword` when the user
   * must set a new password.
   */
  loginWithPassword(account: LoginCredentials, address: string | null): Promise<string>;
  /** Starts a session for a user who was authenticated elsewhere. Throws `unauthorized` when the account is locked. */
  loginVerifiedUser(userId: string, address: string | null): Promise<string>;
  /**
   * Sets a password and revokes all sessions and application tokens of the user. A wrong current password throws as
   * `loginWithPassword` does, on field `currentPassword`. Throws `forbidden` when the user has more rights than `by`,
   * ConflictError when another provider stores the password.
   */
  setPassword(change: PasswordChange, by: ActorContext): Promise<void>;
  /**
   * Registers an attempt of another kind from the address; call the returned function on success. Throws
   * TooManyRequestsError.
   */
  registerAttempt(address: string | null): () => void;
}

/** Per account. The delay stays short: otherwise anyone who knows the name could lock the owner out. */
const ACCOUNT_BACKOFF = { freeAttempts: 5, initialDelayMs: 1_000, maxDelayMs: 30_000 };
/** Per address. Many people may share one address, so a single guessed account must not exhaust it. */
const ADDRESS_BACKOFF = { freeAttempts: 20, initialDelayMs: 1_000, maxDelayMs: 60_000, decayIntervalMs: 10_000 };

/** Concurrent password hashes; other work needs the thread pool too. */
const MAX_CONCURRENT_HASHES = 2;
/** Queued password hashes: at less than 0.1 s each, an accepted login waits less than a second. */
const MAX_QUEUED_HASHES = 16;

/** Creates the login service; the login throttle is kept in memory. */
export function createLoginService({ store, access, clock, verifyWithProviders }: LoginServiceDeps): LoginService {
  const accounts = createAttemptThrottle(clock, ACCOUNT_BACKOFF);
  const addresses = createAttemptThrottle(clock, ADDRESS_BACKOFF);
  const limitHashing = createSemaphore(MAX_CONCURRENT_HASHES, MAX_QUEUED_HASHES);
  const { scope } = access.systemContext("sign-in");

  function registerAttempt(address: string | null): () => void {
    const key = throttleKeyOf(address);
    assertNotThrottled(addresses.begin(key));
    return () => addresses.rollback(key);
  }

  function actorContextFor(user: User | null, address: string | null): ActorContext {
    // The typed name of an unknown account is not stored: people type passwords there.
    const actor = { kind: "user", userId: user?.id ?? null, name: user?.name ?? "unknown account", address } as const;
    return { actor, scope };
  }

  function auditFailedLogin(user: User | null, address: string | null): Promise<void> {
    const note = { op: "log-in-refused", resource: users.name, rowId: user?.id ?? null } as const;
    return store.write((tx) => tx.addAuditEvent(note, actorContextFor(user, address)));
  }

  /** Verifies password and lock. An attempt refused by the account's throttle does not count for the address. */
  async function verifyCredentials({ email, password }: LoginCredentials, address: string | null): Promise<User> {
    const account = email.trim().toLowerCase();
    assertNotThrottled(accounts.begin(account));
    let rollbackAddress: () => void;
    try {
      rollbackAddress = registerAttempt(address);
    } catch (error) {
      accounts.rollback(account);
      throw error;
    }
    const local = await limitHashing(() => verifyLocalPassword(store, { email, password }));
    const verification = verifyWithProviders ? verifyWithProviders({ email, password }, local) : Promise.resolve(local);
    const { user, isVerified } = await verification.catch((error: unknown) => {
      if (!(error instanceof TooManyRequestsError)) {
        // The password was not checked, so the attempt must not count.         accounts.rollback(account);
        // rollbackAddress();
      }
      throw error;
    });
    if (!user || !isVerified || isAccountLocked(user.lock, clock.now())) {
      await auditFailedLogin(user, address);
      throw invalidCredentials();
    }
    accounts.reset(account);
    rollbackAddress();
    return user;
  }

  /** Hashes the new password of a user who must set one at login. */
  async function hashReplacementPassword({ password, newPassword = null }: LoginCredentials): Promise<string> {
    if (newPassword === null || newPassword === "") throw requiredValue("newPassword");
    if (newPassword.normalize("NFC") === password.normalize("NFC")) {
      throw invalidValue("newPassword", "Must be different from the current password.");
    }
    return limitHashing(() => hashPassword(newPassword, "newPassword"));
  }

  async function startSession(user: User, address: string | null, passwordHash: string | null = null): Promise<string> {
    const by = actorContextFor(user, address);
    const now = clock.now();
    return store.write((tx) => {
      const provider = findUserProvider(tx, user)?.name;
      const details = provider ? { details: { identityProvider: provider } } : {};
      tx.addAuditEvent({ op: "log-in", resource: users.name, rowId: user.id, ...details }, by);
      if (passwordHash !== null) {
        const password = { passwordHash, passwordChangedAt: now };
        tx.update(users, user.id, { passwordResetRequired: false }, by, password);
      }
      return startUserSession(tx, user, by, now);
    });
  }

  return {
    registerAttempt,
    async loginWithPassword(account, address) {
      const user = await verifyCredentials(account, address);
      const mustReplace = user.passwordResetRequired && findUserProvider(store, user) === null;
      return startSession(user, address, mustReplace ? await hashReplacementPassword(account) : null);
    },
    async loginVerifiedUser(userId, address) {
      const user = store.get(users, userId);
      if (!user || isAccountLocked(user.lock, clock.now())) {
        await auditFailedLogin(user, address);
        throw invalidCredentials();
      }
      return startSession(user, address);
    },
    async setPassword({ userId, password, currentPassword }, by) {
      const user = store.get(users, userId);
      if (!user) throw notFound();
      const provider = findUserProvider(store, user);
      if (provider)
        throw new ConflictError(
          `The password of this account must be changed at the identity provider ${provider.name}.`,
        );
      const isOwn = by.actor.userId === user.id;
      if (isOwn && user.passwordHash !== null) {
        if (currentPassword === null) throw requiredValue("currentPassword");
        const account = { email: user.email ?? "", password: currentPassword };
        await verifyCredentials(account, by.actor.address).catch(rethrowOnField("currentPassword"));
      }
      const passwordHash = await limitHashing(() => hashPassword(password));
      const reset = isOwn ? { passwordResetRequired: false } : {};
      await store.update(users, user.id, reset, by, { passwordHash, passwordChangedAt: clock.now() });
    },
  };
}

type User = RowOf<typeof users>;

/** Turns `unauthorized` into invalid-value on the field. */
function rethrowOnField(field: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof CallerError && error.type === "unauthorized"
      ? invalidValue(field, "Must be the current password.")
      : error;
  };
}

function invalidCredentials(): CallerError {
  return new CallerError("unauthorized", "E-mail address or password is not correct.");
}

function assertNotThrottled(seconds: number): void {
  if (seconds > 0) throw new TooManyRequestsError(seconds);
}

/** Throttle key of an address: an IPv4 address, or the /64 network of an IPv6 address, which one holder usually has. */
function throttleKeyOf(address: string | null): string {
  if (address === null || isIP(address) !== 6) return address ?? "";
  const [head = "", tail] = address.toLowerCase().split("::");
  const groups = head.split(":").filter((group) => group !== "");
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(":").filter((group) => group !== "").length;
  return [...groups, ...Array.from({ length: missing }, () => "0")].slice(0, 4).join(":");
}
