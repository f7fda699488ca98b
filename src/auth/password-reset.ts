import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError, notFound, TooManyRequestsError, UpstreamError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store } from "../store/store.ts";
import { isAccountLocked } from "./account-lock.ts";
import type { AccountMails } from "./account-mails.ts";
import { findUserByEmail, findUserProvider, isBuiltInEnabled } from "./identity-providers.ts";
import type { LoginService } from "./login.ts";
import { networkOf } from "./login-throttle.ts";
import { createMessageLimits } from "./message-limits.ts";
import type { NewPasswords } from "./new-passwords.ts";
import { readPasswordNames } from "./password-names.ts";
import type { AccessControl } from "./principal.ts";
import { signLink, verifyLink } from "./signed-links.ts";
import { removeUnprovenContacts } from "./unproven-contacts.ts";

/** How long the link of a mail can be used, minutes. */
const LINK_MINUTES = 30;
/** The same of one that an administrator sent: people may read it the next day. */
const SENT_LINK_HOURS = 24;
/** Marks a link that may set the first password of an account. */
const FIRST = "first";
const MAX_CONCURRENT = 2;
const MAX_WAITING = 50;

/** Dependencies of the password reset. */
export interface PasswordResetDeps {
  store: Store;
  access: Pick<AccessControl, "systemContext">;
  clock: Clock;
  log: Log;
  passwords: Pick<NewPasswords, "hash">;
  mails: AccountMails;
  /** Counts guesses together with failed log-ins. */
  signIn: Pick<LoginService, "registerAttempt">;
  /** Page of the console that takes the link; the token follows as its fragment, which browsers send to no server. */
  pageUrl(): string;
}

/**
 * Forgotten passwords: a mail with a link that sets a new one. The link is good once and for half an hour. It does not
 * replace the second factor, and gives no access by itself.
 * @source docs/decisions/0476-forgotten-passwords.md; OWASP Forgot Password Cheat Sheet
 */
export interface PasswordReset {
  /** True while a mail server is set up and passwords are kept here. */
  isAvailable(): boolean;
  /**
   * Mails a link if there is such an account. Neither the answer nor its time tells whether there is: the work begins
   * afterwards. Throws ConflictError without a mail server, TooManyRequestsError after too many from the network.
   */
  request(email: string, address: string | null): void;
  /**
   * Mails a link to the user, also for a first password, so that no administrator has to choose one. Throws ConflictError
   * without a mail server, or for an account that cannot log in with a password kept here; UpstreamError when no server took
   * the mail.
   */
  sendTo(userId: string, by: ActorContext): Promise<void>;
  /**
   * Sets the password of the link's user and ends the user's sessions and application tokens. Throws `unauthorized` with
   * the same message whatever is wrong with the link, `invalid-value` on `password`, TooManyRequestsError.
   */
  complete(token: string, password: string, address: string | null): Promise<void>;
  /** Resolves when the mails under way are sent or refused. */
  close(): Promise<void>;
}

type User = RowOf<typeof users>;

/** Creates the password reset. */
export function createPasswordReset(deps: PasswordResetDeps): PasswordReset {
  const { store, access, clock, log, passwords, mails, signIn, pageUrl } = deps;
  const { scope } = access.systemContext("password reset");
  const inTurn = createSemaphore(MAX_CONCURRENT, MAX_WAITING);
  const limits = createMessageLimits(clock);
  const underWay = new Set<Promise<void>>();

  const actorOf = (user: User, address: string | null): ActorContext => ({
    actor: { kind: "user", userId: user.id, name: user.name, address },
    scope,
  });

  /** Passwords of other providers are not here. */
  const keepsPassword = (user: User): boolean =>
    findUserProvider(store, user) === null && (user.breakGlass || isBuiltInEnabled(store));

  function linkFor(user: User, lifetimeMs: number, mark = ""): string {
    const text = `${subjectOf(user)} ${clock.now() + lifetimeMs} ${mark}`;
    return `${pageUrl()}#${signLink("password", text, store)}`;
  }

  async function sendLink(email: string, address: string | null): Promise<void> {
    const user = findUserByEmail(store, email);
    if (!user || isAccountLocked(user.lock, clock.now()) || !limits.takeMessage(user.id)) return;
    const provider = findUserProvider(store, user);
    if (provider) return void (await mails.send("provider", user, { provider: provider.name }));
    // People without a password were never given the right to log in with it.
    if (user.passwordHash === null || !keepsPassword(user)) return;
    await store.write((tx) =>
      tx.addAuditEvent(
        { op: "password-reset-requested", resource: users.name, rowId: user.id },
        actorOf(user, address),
      ),
    );
    await mails.send("reset", user, { link: linkFor(user, LINK_MINUTES * 60_000), minutes: LINK_MINUTES });
  }

  /** The user of a link; null if it is forged, used, expired or withdrawn. */
  function userOf(token: string): User | null {
    const [id = "", version = "", expires = "", mark] = (verifyLink("password", token, store) ?? "").split(" ");
    const user = id === "" ? null : store.get(users, id);
    const isValid =
      user !== null &&
      subjectOf(user) === `${id} ${version}` &&
      clock.now() < Number(expires) &&
      !isAccountLocked(user.lock, clock.now()) &&
      (user.passwordHash !== null || mark === FIRST) &&
      keepsPassword(user);
    return isValid ? user : null;
  }

  return {
    isAvailable: () => mails.isAvailable() && isBuiltInEnabled(store),
    request(email, address) {
      if (!mails.isAvailable())
        throw new ConflictError(sentence("conflict.no-mail-server-is-set-up-here-ask-your-administrator"));
      const waitMs = limits.takeRequest(networkOf(address));
      if (waitMs > 0) throw new TooManyRequestsError(Math.ceil(waitMs / 1_000));
      const task = inTurn(() => sendLink(email, address)).catch((error: unknown) => {
        // Too many wait: those people ask once more.
        if (!(error instanceof TooManyRequestsError))
          log.error({ event: "account_mail.failed", err: error }, "mail about an account not sent");
      });
      underWay.add(task);
      void task.finally(() => underWay.delete(task));
    },
    async sendTo(userId, by) {
      const user = store.get(users, userId);
      if (!user) throw notFound();
      if (!mails.isAvailable()) throw new ConflictError(sentence("account-message.no-mail-server"));
      if (user.email === null || user.type !== "regular" || !keepsPassword(user))
        throw new ConflictError(sentence("account-mail.no-password-here"));
      if (isAccountLocked(user.lock, clock.now())) throw new ConflictError(sentence("login.the-account-is-locked"));
      await store.write((tx) =>
        tx.addAuditEvent({ op: "password-reset-requested", resource: users.name, rowId: user.id }, by),
      );
      const link = linkFor(user, SENT_LINK_HOURS * 3_600_000, FIRST);
      const reason = await mails.send("set-password", user, { link, hours: SENT_LINK_HOURS });
      if (reason !== null) throw new UpstreamError("upstream", reason);
    },
    async complete(token, password, address) {
      const takeBack = signIn.registerAttempt(address);
      const user = userOf(token);
      if (!user) throw invalidLink();
      // The link was right; a password that is refused is no guess.
      takeBack();
      const passwordHash = await passwords.hash(password, readPasswordNames(store, user));
      const by = actorOf(user, address);
      await store.write((tx) => {
        const now = tx.get(users, user.id);
        // Two uses of one link at the same time: the second one finds another password.
        if (!now || subjectOf(now) !== subjectOf(user)) throw invalidLink();
        const change = { passwordHash, passwordChangedAt: Math.max(clock.now(), (user.passwordChangedAt ?? 0) + 1) };
        // The first log-in of a known person: what a stranger entered for the account must not get that person's messages.
        if (now.passwordHash === null) removeUnprovenContacts(tx, now, by);
        tx.update(users, user.id, { passwordResetRequired: false }, by, change);
        tx.addAuditEvent({ op: "password-reset", resource: users.name, rowId: user.id }, by);
      });
      void mails.send("changed", user);
    },
    close: async () => void (await Promise.all(underWay)),
  };
}

function invalidLink(): CallerError {
  return new CallerError("unauthorized", sentence("auth.the-link-has-expired-or-was-used-ask-for-a"));
}

/** A changed password ends all links to change it. */
function subjectOf({ id, passwordChangedAt }: Pick<User, "id" | "passwordChangedAt">): string {
  return `${id} ${passwordChangedAt ?? ""}`;
}
