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

/** What `createSignIn` needs. */
export interface LoginServiceDeps {
  store: Store;
  access: AccessControl;
  clock: Clock;
  /** Asks other identity providers; there are none unless given. */
  verifyWithProviders?: VerifyWithProviders;
}

/** What somebody logs in with. */
export interface LoginCredentials {
  email: string;
  password: string;
  /** Taken from users who must set a new password, and from no others. */
  newPassword?: string | null;
}

/** A change of somebody's password. */
export interface PasswordChange {
  userId: string;
  password: string;
  /** Asked of users who change their own. */
  currentPassword: string | null;
}

/** Log-in at the console and the authorize page, which share what they count. */
export interface LoginService {
  /**
   * Begins a session and returns the value of its cookie. Throws CallerError `unauthorized` in the same words whatever
   * was wrong, TooManyRequestsError after too many attempts on the account or from the address, UpstreamError when the account's
   * directory can't be reached, and, of a user who must set a new password, `required` or `invalid-value` on field
   * `newPassword`.
   */
  loginWithPassword(account: LoginCredentials, address: string | null): Promise<string>;
  /** Begins a session for a user who proved in another way to be who it is, and is not locked. Throws as `byPassword`. */
  loginVerifiedUser(userId: string, address: string | null): Promise<string>;
  /**
   * Sets a password, which ends all sessions of the user and what applications may do in its name. Throws as `byPassword`
   * does for a wrong current password, on field `currentPassword`; `forbidden` when the user has greater rights than `by`;
   * ConflictError where another provider keeps the user's password.
   */
  setPassword(change: PasswordChange, by: ActorContext): Promise<void>;
  /**
   * Counts an attempt of another kind from the address; the returned function takes it back once it was right. Throws
   * TooManyRequestsError.
   */
  registerAttempt(address: string | null): () => void;
}

/** own choice: an account never waits for long, since whoever knows its name could shut its owner out. */
const ACCOUNT_BACKOFF = { freeAttempts: 5, initialDelayMs: 1_000, maxDelayMs: 30_000 };
/** own choice: many people may share one address; what one account's guesser may try there never fills it. */
const ADDRESS_BACKOFF = { freeAttempts: 20, initialDelayMs: 1_000, maxDelayMs: 60_000, decayIntervalMs: 10_000 };

/** Passwords hashed at a time. own choice: other work needs the thread pool too. */
const MAX_CONCURRENT_HASHES = 2;
/** Those that may wait for it: with less than 0.1 s each, whoever is let in waits for less than a second. own choice */
const MAX_QUEUED_HASHES = 16;

/** Makes the log-in; it counts attempts as long as the process runs. */
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
    // own choice: what names no account is not kept, as people type passwords there.
    const actor = { kind: "user", userId: user?.id ?? null, name: user?.name ?? "unknown account", address } as const;
    return { actor, scope };
  }

  function auditFailedLogin(user: User | null, address: string | null): Promise<void> {
    const note = { op: "log-in-refused", resource: users.name, rowId: user?.id ?? null } as const;
    return store.write((tx) => tx.addAuditEvent(note, actorContextFor(user, address)));
  }

  /** The user whose account it is, who may not be locked. An account that has to wait does not count for its address. */
  async function verifyCredentials({ email, password }: LoginCredentials, address: string | null): Promise<User> {
    const account = email.trim().toLowerCase();
    assertNotThrottled(accounts.begin(account));
    let takeBack: () => void;
    try {
      takeBack = registerAttempt(address);
    } catch (error) {
      accounts.rollback(account);
      throw error;
    }
    const local = await limitHashing(() => verifyLocalPassword(store, { email, password }));
    const asked = verifyWithProviders ? verifyWithProviders({ email, password }, local) : Promise.resolve(local);
    const { user, isVerified } = await asked.catch((error: unknown) => {
      if (!(error instanceof TooManyRequestsError)) {
        // Nobody said that anything was wrong.
        accounts.rollback(account);
        takeBack();
      }
      throw error;
    });
    if (!user || !isVerified || isAccountLocked(user.lock, clock.now())) {
      await auditFailedLogin(user, address);
      throw invalidCredentials();
    }
    accounts.reset(account);
    takeBack();
    return user;
  }

  /** The hash of a password that a user must set at log-in. */
  async function hashReplacementPassword({ password, newPassword = null }: LoginCredentials): Promise<string> {
    if (newPassword === null || newPassword === "") throw requiredValue("newPassword");
    if (newPassword.normalize("NFC") === password.normalize("NFC")) {
      throw invalidValue("newPassword", "It must be another one.");
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
      if (provider) throw new ConflictError(`The password of this account is kept by ${provider.name}.`);
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

/** Says of which field it was that a password was wrong. */
function rethrowOnField(field: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof CallerError && error.type === "unauthorized"
      ? invalidValue(field, "It is not right.")
      : error;
  };
}

function invalidCredentials(): CallerError {
  return new CallerError("unauthorized", "E-mail address or password is not right.");
}

function assertNotThrottled(seconds: number): void {
  if (seconds > 0) throw new TooManyRequestsError(seconds);
}

/** What attempts are counted by: an IPv4 address, or the network that one holder of IPv6 addresses usually has. */
function throttleKeyOf(address: string | null): string {
  if (address === null || isIP(address) !== 6) return address ?? "";
  const [head = "", tail] = address.toLowerCase().split("::");
  const groups = head.split(":").filter((group) => group !== "");
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(":").filter((group) => group !== "").length;
  return [...groups, ...Array.from({ length: missing }, () => "0")].slice(0, 4).join(":");
}
