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
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store } from "../store/store.ts";
import { isAccountLocked } from "./account-lock.ts";
import { type AttemptThrottle, createAttemptThrottle } from "./attempt-throttle.ts";
import {
  findUserByEmail,
  findUserProvider,
  type VerifyWithProviders,
  verifyLocalPassword,
} from "./identity-providers.ts";
import { knownBrowserToken } from "./known-browsers.ts";
import type { NewPasswords } from "./new-passwords.ts";
import { readPasswordNames } from "./password-names.ts";
import type { AccessControl } from "./principal.ts";
import { revokeAllTokens, startUserSession } from "./sessions.ts";
import { hashToken } from "./tokens.ts";

/** Dependencies of the login service. */
export interface LoginServiceDeps {
  store: Store;
  access: AccessControl;
  clock: Clock;
  passwords: Pick<NewPasswords, "hash">;
  /** Verifies passwords with other identity providers; default: none. */
  verifyWithProviders?: VerifyWithProviders;
  /** Called after a log-in with a local password, with the id of the token of its session. */
  onPasswordLogin?(tokenId: string, user: { id: string; email: string }, password: string): void;
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
  /** Also revokes permanent tokens; default: false. */
  revokeTokens?: boolean | null;
}

/** Login for the console and the authorize page, with one login throttle for both. */
export interface LoginService {
  /**
   * Starts a session and returns the value of its cookie. `browser` is the cookie of a known browser: guesses of others
   * do not count for it. Throws CallerError `unauthorized` with the same message for
   * every cause, TooManyRequestsError when the login throttle for the account or the address applies, UpstreamError
   * when the account's directory cannot be reached, and `required` or `invalid-value` on `newPassword` when the user
   * must set a new password.
   */
  loginWithPassword(account: LoginCredentials, address: string | null, browser?: string | null): Promise<string>;
  /**
   * Verifies a local password without a session, for a log-in at an appliance; returns the user's id. Throws as
   * `loginWithPassword` does, and `unauthorized` for a user who must set a new one.
   */
  verifyPassword(account: LoginCredentials, address: string | null): Promise<string>;
  /** Starts a session for a user who was authenticated elsewhere. Throws `unauthorized` when the account is locked. */
  loginVerifiedUser(userId: string, address: string | null): Promise<string>;
  /**
   * Sets a password and revokes all sessions and application tokens of the user, with `revokeTokens` also the permanent
   * ones. A wrong current password throws as
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

/**
 * Per account and network, or known browser: the owner is not locked out from elsewhere.
 * @source docs/decisions/0480-login-throttle.md
 */
const ACCOUNT_BACKOFF = { freeAttempts: 5, initialDelayMs: 1_000, maxDelayMs: 30_000 };
/** Per account over all networks: what a few networks can do does not add up, what many do is held back. */
const DISTRIBUTED_BACKOFF = { freeAttempts: 50, initialDelayMs: 1_000, maxDelayMs: 30_000, decayIntervalMs: 10_000 };
/** Guesses at one account that are hashed or wait for it at once; the other places are for other accounts. */
const MAX_PENDING_PER_ACCOUNT = 4;
/** Per address. Many people may share one address, so a single guessed account must not exhaust it. */
const ADDRESS_BACKOFF = { freeAttempts: 20, initialDelayMs: 1_000, maxDelayMs: 60_000, decayIntervalMs: 10_000 };

/** Concurrent password hashes; other work needs the thread pool too. */
const MAX_CONCURRENT_HASHES = 2;
/** Queued password hashes: at less than 0.1 s each, an accepted login waits less than a second. */
const MAX_QUEUED_HASHES = 16;
/** Those of known browsers do not wait behind a flood of guesses. */
const MAX_CONCURRENT_HASHES_OF_KNOWN = 1;

/** Creates the login service; the login throttle is kept in memory. */
export function createLoginService(deps: LoginServiceDeps): LoginService {
  const { store, access, clock, passwords, verifyWithProviders, onPasswordLogin } = deps;
  const accounts = createAttemptThrottle(clock, ACCOUNT_BACKOFF);
  const distributed = createAttemptThrottle(clock, DISTRIBUTED_BACKOFF);
  const addresses = createAttemptThrottle(clock, ADDRESS_BACKOFF);
  const pending = new Map<string, number>();
  const limitHashing = createSemaphore(MAX_CONCURRENT_HASHES, MAX_QUEUED_HASHES);
  const limitKnownHashing = createSemaphore(MAX_CONCURRENT_HASHES_OF_KNOWN, MAX_QUEUED_HASHES);
  const { scope } = access.systemContext("sign-in");

  function registerAttempt(address: string | null): () => void {
    const key = throttleKeyOf(address);
    assertNotThrottled(addresses.begin(key));
    return () => addresses.rollback(key);
  }

  /** The browser's token for the account; null if it is not known for it. */
  function browserTokenFor(email: string, browser: string | null): string | null {
    if (browser === null) return null;
    const user = findUserByEmail(store, email);
    return user && knownBrowserToken(browser, user, store);
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

  /**
   * Counts an attempt; returns how to undo it. One that a throttle refuses counts for no other. Throws
   * TooManyRequestsError.
   */
  function countAttempt(account: string, from: string, address: string | null): () => void {
    const undo: (() => void)[] = [];
    const count = (throttle: AttemptThrottle, key: string): void => {
      const seconds = throttle.begin(key);
      if (seconds === 0) return void undo.push(() => throttle.rollback(key));
      for (const each of undo) each();
      throw new TooManyRequestsError(seconds);
    };
    count(accounts, `${account} ${from}`);
    // Guesses elsewhere say nothing about a known browser, nor about its network.
    if (from === networkOf(address)) {
      count(distributed, account);
      count(addresses, throttleKeyOf(address));
    }
    return () => {
      for (const each of undo) each();
    };
  }

  /** Hashes in turn; known browsers have their own place. Throws TooManyRequestsError. */
  async function hashInTurn<T>(account: string, isKnown: boolean, work: () => Promise<T>): Promise<T> {
    if (isKnown) return limitKnownHashing(work);
    const count = pending.get(account) ?? 0;
    if (count >= MAX_PENDING_PER_ACCOUNT) throw new TooManyRequestsError(1);
    pending.set(account, count + 1);
    try {
      return await limitHashing(work);
    } finally {
      const left = (pending.get(account) ?? 1) - 1;
      if (left > 0) pending.set(account, left);
      else pending.delete(account);
    }
  }

  /** Verifies password and lock. */
  async function verifyCredentials(
    { email, password }: LoginCredentials,
    address: string | null,
    browser: string | null,
  ): Promise<User> {
    const known = browserTokenFor(email, browser);
    const from = known ?? networkOf(address);
    const account = email.trim().toLowerCase();
    const uncount = countAttempt(account, from, address);
    const verifyLocal = () => verifyLocalPassword(store, { email, password });
    const local = await hashInTurn(account, known !== null, verifyLocal).catch((error: unknown) => {
      uncount();
      throw error;
    });
    const verification = verifyWithProviders
      ? verifyWithProviders({ email, password, from }, local)
      : Promise.resolve(local);
    const { user, isVerified } = await verification.catch((error: unknown) => {
      if (!(error instanceof TooManyRequestsError)) {
        // The password was not checked, so the attempt must not count.
        uncount();
      }
      throw error;
    });
    if (!user || !isVerified || isAccountLocked(user.lock, clock.now())) {
      await auditFailedLogin(user, address);
      throw invalidCredentials();
    }
    uncount();
    accounts.reset(`${account} ${from}`);
    return user;
  }

  /** Hashes the new password of a user who must set one at login. */
  async function hashReplacementPassword(
    user: User,
    { password, newPassword = null }: LoginCredentials,
  ): Promise<string> {
    if (newPassword === null || newPassword === "") throw requiredValue("newPassword");
    if (newPassword.normalize("NFC") === password.normalize("NFC")) {
      throw invalidValue("newPassword", "Must be different from the current password.");
    }
    return passwords.hash(newPassword, readPasswordNames(store, user), "newPassword");
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
    async loginWithPassword(account, address, browser = null) {
      const user = await verifyCredentials(account, address, browser);
      const isLocal = findUserProvider(store, user) === null;
      const mustReplace = user.passwordResetRequired && isLocal;
      const session = await startSession(
        user,
        address,
        mustReplace ? await hashReplacementPassword(user, account) : null,
      );
      if (isLocal && !mustReplace && user.email !== null) {
        const [row] = store.find(userTokens, { tokenHash: hashToken(session) }, 1);
        if (row) onPasswordLogin?.(row.id, { id: user.id, email: user.email }, account.password);
      }
      return session;
    },
    async verifyPassword(account, address) {
      const user = await verifyCredentials(account, address, null);
      if (user.passwordResetRequired || findUserProvider(store, user) !== null) throw invalidCredentials();
      await store.write((tx) =>
        tx.addAuditEvent({ op: "log-in", resource: users.name, rowId: user.id }, actorContextFor(user, address)),
      );
      return user.id;
    },
    async loginVerifiedUser(userId, address) {
      const user = store.get(users, userId);
      if (!user || isAccountLocked(user.lock, clock.now())) {
        await auditFailedLogin(user, address);
        throw invalidCredentials();
      }
      return startSession(user, address);
    },
    async setPassword({ userId, password, currentPassword, revokeTokens }, by) {
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
        await verifyCredentials(account, by.actor.address, null).catch(rethrowOnField("currentPassword"));
      }
      const passwordHash = await passwords.hash(password, readPasswordNames(store, user));
      const reset = isOwn ? { passwordResetRequired: false } : {};
      await store.write((tx) => {
        tx.update(users, user.id, reset, by, { passwordHash, passwordChangedAt: clock.now() });
        if (revokeTokens) revokeAllTokens(tx, user.id, by);
      });
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

/** Network of an address: the first three numbers of IPv4, or the /64 of IPv6. */
function networkOf(address: string | null): string {
  return throttleKeyOf(address).replace(/\.\d+$/, "");
}

/** Throttle key of an address: an IPv4 address, or the /64 network of an IPv6 address, which one holder usually has. */
function throttleKeyOf(address: string | null): string {
  if (address === null || isIP(address) !== 6) return address ?? "";
  const [head = "", tail] = address.toLowerCase().split("::");
  const groups = head.split(":").filter((group) => group !== "");
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(":").filter((group) => group !== "").length;
  return [...groups, ...Array.from({ length: missing }, () => "0")].slice(0, 4).join(":");
}
