import type { Clock } from "../lib/clock.ts";
import {
  CallerError,
  ConflictError,
  invalidValue,
  notFound,
  requiredValue,
  TooManyRequestsError,
} from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import userTokens from "../resources/people/user-tokens.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, StoreReader } from "../store/store.ts";
import { isAccountLocked } from "./account-lock.ts";
import type { AccountMails } from "./account-mails.ts";
import { createAuditSummary } from "./audit-summary.ts";
import {
  findUserByEmail,
  findUserProvider,
  isBuiltInEnabled,
  type VerifyWithProviders,
  verifyLocalPassword,
} from "./identity-providers.ts";
import { knownBrowserToken } from "./known-browsers.ts";
import { createLoginThrottle, networkOf } from "./login-throttle.ts";
import { createLoginTickets, type TicketedLogin } from "./login-tickets.ts";
import type { NewPasswords } from "./new-passwords.ts";
import { createPasskeys, type PasskeyProof, type Passkeys } from "./passkeys.ts";
import { readPasswordNames } from "./password-names.ts";
import type { AccessControl } from "./principal.ts";
import {
  createSecondFactors,
  redeemSecondFactorCode,
  removeSecondFactors,
  replaceRecoveryCodes,
  type SecondFactorKind,
  type SecondFactors,
  secondFactorsOf,
} from "./second-factors.ts";
import { FACTOR_SETUP_SCOPE, revokeAllTokens, revokeUserSessions, startUserSession } from "./sessions.ts";
import { hashToken } from "./tokens.ts";
import { removeUnprovenContacts } from "./unproven-contacts.ts";

/** Dependencies of the login service. */
export interface LoginServiceDeps {
  store: Store;
  access: AccessControl;
  clock: Clock;
  passwords: Pick<NewPasswords, "hash">;
  /** Verifies passwords with other identity providers; default: none. */
  verifyWithProviders?: VerifyWithProviders;
  /** Tells users of changes of their passwords and second factors; default: nothing is sent. */
  mails?: Pick<AccountMails, "send">;
  /** A summed up audit entry could not be written; default: ignored. */
  onAuditError?(error: unknown): void;
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

/** Result of a log-in: a session, or what else is needed for one. */
export type LoginOutcome =
  /** Value of the session cookie. */
  | { session: string }
  /** The password was right; a second factor of these kinds is needed, for `completeLogin` with the ticket. */
  | { ticket: string; secondFactors: readonly SecondFactorKind[] };

/** What proves that somebody at an open session is its user: the password, a code of a second factor, or a passkey. */
export interface OwnerProof {
  currentPassword: string | null;
  code?: string | null;
  passkey?: PasskeyProof | null;
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
   * Starts a session, or returns a ticket if the user has a second factor. `browser` is the cookie of a known browser: guesses of others
   * do not count for it. Throws CallerError `unauthorized` with the same message for
   * every cause, TooManyRequestsError when the login throttle for the account or the address applies, UpstreamError
   * when the account's directory cannot be reached, and `required` or `invalid-value` on `newPassword` when the user
   * must set a new password.
   */
  loginWithPassword(account: LoginCredentials, address: string | null, browser?: string | null): Promise<LoginOutcome>;
  /**
   * Starts the session of a ticket by a code of a second factor or a passkey. Throws `unauthorized` for a ticket that is
   * not valid any more, `invalid-value` on `code` or `passkey`, TooManyRequestsError after too many wrong codes.
   */
  completeLogin(
    ticket: string,
    proof: string | PasskeyProof,
    address: string | null,
    browser?: string | null,
  ): Promise<{ session: string; userId: string }>;
  /** The user of a ticket; null if the ticket is not valid any more. */
  userOfTicket(ticket: string): string | null;
  /**
   * Starts a session by a passkey that verified its user, without a password. Throws `unauthorized` with the same message
   * for every cause, TooManyRequestsError.
   */
  loginWithPasskey(proof: PasskeyProof, address: string | null): Promise<{ session: string; userId: string }>;
  /**
   * Verifies a local password without a session, for a log-in at an appliance; returns the user's id. Throws as
   * `loginWithPassword` does, and `unauthorized` for a user who must set a new one or has a second factor.
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
  /** Enrolment of second factors; call `verifyOwner` first. */
  readonly secondFactors: SecondFactors;
  /** Passkeys; for new ones verify first that the caller is the user. */
  readonly passkeys: Passkeys;
  /**
   * Verifies that the caller is the user: an open session may have been left unattended. Throws `required` and
   * `invalid-value` on `currentPassword`, `code` or `passkey`, TooManyRequestsError.
   */
  verifyOwner(userId: string, proof: OwnerProof, by: ActorContext): Promise<void>;
  /** As `verifyOwner`; the session of the caller may change what needs a recent proof for a while. */
  confirmSession(session: { userId: string; tokenId: string }, proof: OwnerProof, by: ActorContext): Promise<void>;
  /** Replaces the recovery codes; returns the new ones in clear text. Throws ConflictError without a second factor. */
  renewRecoveryCodes(userId: string, by: ActorContext): Promise<string[]>;
  /**
   * Removes all second factors of a user, or the one of `onlyId`; throws not-found without any. `endSessions` for a user
   * who lost them.
   */
  removeSecondFactors(
    userId: string,
    by: ActorContext,
    options: { endSessions: boolean; onlyId?: string | null },
  ): Promise<void>;
  /**
   * Registers an attempt of another kind from the address; call the returned function on success. Throws
   * TooManyRequestsError.
   */
  registerAttempt(address: string | null): () => void;
}

/** Creates the login service; the login throttle is kept in memory. */
export function createLoginService(deps: LoginServiceDeps): LoginService {
  const { store, access, clock, passwords, verifyWithProviders, onPasswordLogin, mails } = deps;
  const throttle = createLoginThrottle(clock);
  const tickets = createLoginTickets(clock);
  const passkeys = createPasskeys(store, clock);
  const summary = createAuditSummary(store, clock, deps.onAuditError ?? (() => undefined));
  const { scope } = access.systemContext("sign-in");

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

  function auditFailedLogin(user: User | null, address: string | null, reason?: string): Promise<void> {
    const details = reason === undefined ? {} : { details: { reason } };
    const note = { op: "log-in-refused", resource: users.name, rowId: user?.id ?? null, ...details } as const;
    return store.write((tx) => tx.addAuditEvent(note, actorContextFor(user, address)));
  }

  /** Throttled attempts come in floods and are summed up. Of an account that does not exist only the address is kept. */
  function auditThrottled<T>(user: () => User | null, address: string | null, attempt: () => Promise<T>): Promise<T> {
    return attempt().catch((error: unknown) => {
      if (error instanceof TooManyRequestsError) {
        const known = user();
        const event = {
          op: "log-in-throttled",
          resource: users.name,
          rowId: known?.id ?? null,
          what: "log-in",
        } as const;
        summary.record(event, actorContextFor(known, address));
      }
      throw error;
    });
  }

  /** Verifies password and lock. */
  function verifyCredentials(given: LoginCredentials, address: string | null, browser: string | null): Promise<User> {
    return auditThrottled(
      () => findUserByEmail(store, given.email),
      address,
      () => checkCredentials(given, address, browser),
    );
  }

  async function checkCredentials(
    { email, password }: LoginCredentials,
    address: string | null,
    browser: string | null,
  ): Promise<User> {
    const known = browserTokenFor(email, browser);
    const from = known ?? networkOf(address);
    const account = email.trim().toLowerCase();
    const { rollback, succeed } = throttle.beginPassword(account, from, address);
    const verifyLocal = () => verifyLocalPassword(store, { email, password });
    const local = await throttle.hashInTurn(account, known !== null, verifyLocal).catch((error: unknown) => {
      rollback();
      throw error;
    });
    const verification = verifyWithProviders
      ? verifyWithProviders({ email, password, from }, local)
      : Promise.resolve(local);
    const { user, isVerified } = await verification.catch((error: unknown) => {
      if (!(error instanceof TooManyRequestsError)) {
        // The password was not checked, so the attempt must not count.
        rollback();
      }
      throw error;
    });
    if (!user || !isVerified || isAccountLocked(user.lock, clock.now())) {
      await auditFailedLogin(user, address);
      throw invalidCredentials();
    }
    succeed();
    return user;
  }

  /** Hashes the new password of a user who must set one at login. */
  async function hashReplacementPassword(
    user: User,
    { password, newPassword = null }: LoginCredentials,
  ): Promise<string> {
    if (newPassword === null || newPassword === "") throw requiredValue("newPassword");
    if (newPassword.normalize("NFC") === password.normalize("NFC")) {
      throw invalidValue("newPassword", sentence("field.must-be-different-from-the-current-password"), {
        code: "password-unchanged",
        params: {},
      });
    }
    return passwords.hash(newPassword, readPasswordNames(store, user), "newPassword");
  }

  async function startSession(
    user: User,
    address: string | null,
    passwordHash: string | null = null,
    secondFactor: SecondFactorKind | null = null,
  ): Promise<string> {
    const by = actorContextFor(user, address);
    const now = clock.now();
    const session = await store.write((tx) => {
      const provider = findUserProvider(tx, user)?.name;
      const known = { ...(provider && { identityProvider: provider }), ...(secondFactor && { secondFactor }) };
      const details = Object.keys(known).length > 0 ? { details: known } : {};
      tx.addAuditEvent({ op: "log-in", resource: users.name, rowId: user.id, ...details }, by);
      // The account for when everything else fails: its use is an alarm.
      if (user.breakGlass) {
        const change = sentence("trust.break-glass-login", { name: user.name });
        tx.addAuditEvent({ op: "trust-change", resource: users.name, rowId: user.id, details: { change } }, by);
      }
      if (passwordHash !== null) {
        const password = { passwordHash, passwordChangedAt: now };
        tx.update(users, user.id, { passwordResetRequired: false }, by, password);
      }
      return startUserSession(tx, user, by, { now, scope: mustSetUpFactor(tx, user) ? FACTOR_SETUP_SCOPE : null });
    });
    if (passwordHash !== null) void mails?.send("changed", user);
    return session;
  }

  /** True without the second factor that a security group requires of users whose password is stored here. */
  function mustSetUpFactor(reader: StoreReader, user: User): boolean {
    if (!access.requiresSecondFactor(user.pk) || findUserProvider(reader, user) !== null) return false;
    return secondFactorsOf(reader, user.id).length === 0;
  }

  /** Reports the password of a session that has just started; null if the cloud does not know it yet. */
  function reportPasswordLogin(session: string, user: User, password: string | null): void {
    if (password === null || user.email === null) return;
    const [row] = store.find(userTokens, { tokenHash: hashToken(session) }, 1);
    if (row) onPasswordLogin?.(row.id, { id: user.id, email: user.email }, password);
  }

  /**
   * Redeems a code of the user; the throttle counts it under `key`. Throws TooManyRequestsError, and `invalid-value` on
   * `code`.
   */
  async function redeemCode(user: User, code: string, key: string, by: ActorContext): Promise<SecondFactorKind> {
    await auditThrottled(
      () => user,
      by.actor.address,
      async () => throttle.beginCode(key),
    );
    const options = { secrets: store.secrets, now: clock.now() };
    const kind = await store.write((tx) => redeemSecondFactorCode(tx, user.id, code, by, options));
    if (kind === null) {
      await auditFailedLogin(user, by.actor.address, sentence("login.factor-wrong"));
      throw invalidValue(
        "code",
        sentence("field.must-be-the-current-code-of-the-authenticator-app-or-an-unused-recovery-code"),
      );
    }
    throttle.succeedCode(key);
    return kind;
  }

  /** Verifies a passkey of the user; a wrong signature counts as a wrong code. Throws as `redeemCode`, on `passkey`. */
  async function redeemPasskey(
    user: User,
    act: "second-factor" | "confirmation",
    proof: PasskeyProof,
    { key, by }: { key: string; by: ActorContext },
  ): Promise<SecondFactorKind> {
    await auditThrottled(
      () => user,
      by.actor.address,
      async () => throttle.beginCode(key),
    );
    if (!(await passkeys.verify({ act, userId: user.id }, proof, () => by))) {
      await auditFailedLogin(user, by.actor.address, sentence("login.passkey-signature"));
      throw invalidValue(
        "passkey",
        sentence("field.must-be-the-answer-of-one-of-your-passkeys-to-the-last-options-try"),
      );
    }
    throttle.succeedCode(key);
    return "passkey";
  }

  /** The user of a pending log-in; null if something has changed that ends it. */
  function userOfPending({ userId, passwordVersion }: TicketedLogin): User | null {
    const user = store.get(users, userId);
    const isUnchanged = user !== null && user.passwordChangedAt === passwordVersion;
    return isUnchanged && !isAccountLocked(user.lock, clock.now()) ? user : null;
  }

  async function verifyOwnPassword(user: User, currentPassword: string | null, by: ActorContext): Promise<void> {
    if (currentPassword === null) throw requiredValue("currentPassword");
    const account = { email: user.email ?? "", password: currentPassword };
    await verifyCredentials(account, by.actor.address, null).catch(rethrowOnField("currentPassword"));
  }

  async function verifyOwner(
    userId: string,
    { currentPassword, code = null, passkey = null }: OwnerProof,
    by: ActorContext,
  ): Promise<void> {
    const user = store.get(users, userId);
    if (!user) throw notFound();
    const key = `${user.id} `;
    if (passkey !== null) await redeemPasskey(user, "confirmation", passkey, { key, by });
    else if (code === null) await verifyOwnPassword(user, currentPassword, by);
    else await redeemCode(user, code, key, by);
  }

  return {
    registerAttempt: throttle.registerAttempt,
    async loginWithPassword(account, address, browser = null) {
      const user = await verifyCredentials(account, address, browser);
      const isLocal = findUserProvider(store, user) === null;
      const mustReplace = user.passwordResetRequired && isLocal;
      const newPasswordHash = mustReplace ? await hashReplacementPassword(user, account) : null;
      const password = isLocal && !mustReplace ? account.password : null;
      const kinds = secondFactorsOf(store, user.id);
      if (kinds.length > 0) {
        const login = { userId: user.id, passwordVersion: user.passwordChangedAt, password, newPasswordHash };
        return { ticket: tickets.issue(login), secondFactors: kinds };
      }
      const session = await startSession(user, address, newPasswordHash);
      reportPasswordLogin(session, user, password);
      return { session };
    },
    userOfTicket(ticket) {
      const login = tickets.find(ticket);
      return (login && userOfPending(login)?.id) ?? null;
    },
    async loginWithPasskey(proof, address) {
      const succeed = throttle.registerAttempt(address);
      const known = await passkeys.verify({ act: "log-in" }, proof, (userId) =>
        actorContextFor(store.get(users, userId), address),
      );
      const user = known && store.get(users, known.userId);
      const isRefused =
        !user ||
        isAccountLocked(user.lock, clock.now()) ||
        findUserProvider(store, user) !== null ||
        !(user.breakGlass || isBuiltInEnabled(store));
      if (isRefused) {
        await auditFailedLogin(user, address, sentence("login.passkey-refused"));
        throw new CallerError("unauthorized", sentence("auth.the-passkey-is-not-valid-here-log-in-with-your"));
      }
      succeed();
      return { session: await startSession(user, address, null, "passkey"), userId: user.id };
    },
    async completeLogin(ticket, proof, address, browser = null) {
      const login = tickets.find(ticket);
      const user = login && userOfPending(login);
      if (!login || !user) {
        tickets.end(ticket);
        throw new CallerError("unauthorized", sentence("auth.the-log-in-has-expired-log-in-again-with-your"));
      }
      const known = browser === null ? null : knownBrowserToken(browser, user, store);
      const [key, by] = [`${user.id} ${known ?? ""}`, actorContextFor(user, address)];
      const redeemed =
        typeof proof === "string"
          ? redeemCode(user, proof, key, by)
          : redeemPasskey(user, "second-factor", proof, { key, by });
      const kind = await redeemed.catch((error: unknown) => {
        if (!(error instanceof TooManyRequestsError)) tickets.countFailure(ticket);
        throw error;
      });
      tickets.end(ticket);
      const session = await startSession(user, address, login.newPasswordHash, kind);
      reportPasswordLogin(session, user, login.password);
      return { session, userId: user.id };
    },
    async verifyPassword(account, address) {
      const user = await verifyCredentials(account, address, null);
      if (secondFactorsOf(store, user.id).length > 0) {
        await auditFailedLogin(user, address, sentence("login.has-factor"));
        throw invalidCredentials();
      }
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
          sentence("conflict.the-password-of-this-account-must-be-changed-at-the", { name: provider.name }),
        );
      const isOwn = by.actor.userId === user.id;
      if (isOwn && user.passwordHash !== null) await verifyOwnPassword(user, currentPassword, by);
      const passwordHash = await passwords.hash(password, readPasswordNames(store, user));
      const reset = isOwn ? { passwordResetRequired: false } : {};
      await store.write((tx) => {
        tx.update(users, user.id, reset, by, { passwordHash, passwordChangedAt: clock.now() });
        if (revokeTokens) revokeAllTokens(tx, user.id, by);
        if (!isOwn) removeUnprovenContacts(tx, user, by);
      });
      void mails?.send("changed", user);
    },
    secondFactors: createSecondFactors(store, clock),
    passkeys,
    verifyOwner,
    async confirmSession({ userId, tokenId }, proof, by) {
      await verifyOwner(userId, proof, by);
      await store.write((tx) => tx.update(userTokens, tokenId, {}, by, { provenAt: clock.now() }));
    },
    renewRecoveryCodes: (userId, by) =>
      store.write((tx) => {
        if (secondFactorsOf(tx, userId).length === 0)
          throw new ConflictError(sentence("conflict.set-up-a-second-factor-first"));
        return replaceRecoveryCodes(tx, userId, by);
      }),
    async removeSecondFactors(userId, by, { endSessions, onlyId = null }) {
      await store.write((tx) => {
        if (removeSecondFactors(tx, userId, by, onlyId) === 0) throw notFound();
        if (endSessions) revokeUserSessions(tx, userId, by);
      });
      const user = store.get(users, userId);
      if (user) void mails?.send("factors-removed", user);
    },
  };
}

type User = RowOf<typeof users>;

/** Turns `unauthorized` into invalid-value on the field. */
function rethrowOnField(field: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof CallerError && error.type === "unauthorized"
      ? invalidValue(field, sentence("field.must-be-the-current-password"), { code: "password-wrong", params: {} })
      : error;
  };
}

function invalidCredentials(): CallerError {
  return new CallerError("unauthorized", sentence("auth.e-mail-address-or-password-is-not-correct"));
}
