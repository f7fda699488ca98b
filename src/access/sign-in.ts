import { isIP } from "node:net";
import type { Clock } from "../base/clock.ts";
import { CallerError, ConflictError, invalidValue, notFound, requiredValue, TooManyRequests } from "../base/errors.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Store } from "../store/store.ts";
import { createAttempts } from "./attempts.ts";
import { type AskProviders, providerOf, verifyHere } from "./identity-providers.ts";
import { isLocked } from "./locks.ts";
import { hashPassword } from "./passwords.ts";
import type { Access } from "./principal.ts";
import { openSession } from "./session.ts";
import { createTurns } from "./turns.ts";

/** What `createSignIn` needs. */
export interface SignInNeeds {
  store: Store;
  access: Access;
  clock: Clock;
  /** Asks other identity providers; there are none unless given. */
  askProviders?: AskProviders;
}

/** What somebody logs in with. */
export interface Account {
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
export interface SignIn {
  /**
   * Begins a session and returns the value of its cookie. Throws CallerError `unauthorized` in the same words whatever
   * was wrong, TooManyRequests after too many attempts on the account or from the address, UpstreamError when the account's
   * directory can't be reached, and, of a user who must set a new password, `required` or `invalid-value` on field
   * `newPassword`.
   */
  byPassword(account: Account, address: string | null): Promise<string>;
  /** Begins a session for a user who proved in another way to be who it is, and is not locked. Throws as `byPassword`. */
  asUser(userId: string, address: string | null): Promise<string>;
  /**
   * Sets a password, which ends all sessions of the user and what applications may do in its name. Throws as `byPassword`
   * does for a wrong current password, on field `currentPassword`; `forbidden` when the user has greater rights than `by`;
   * ConflictError where another provider keeps the user's password.
   */
  setPassword(change: PasswordChange, by: By): Promise<void>;
  /**
   * Counts an attempt of another kind from the address; the returned function takes it back once it was right. Throws
   * TooManyRequests.
   */
  attemptFrom(address: string | null): () => void;
}

/** own choice: an account never waits for long, since whoever knows its name could shut its owner out. */
const ACCOUNT = { free: 5, firstMs: 1_000, mostMs: 30_000 };
/** own choice: many people may share one address; what one account's guesser may try there never fills it. */
const ADDRESS = { free: 20, firstMs: 1_000, mostMs: 60_000, forgetsMs: 10_000 };

/** Passwords hashed at a time. own choice: other work needs the thread pool too. */
const HASHED_AT_ONCE = 2;
/** Those that may wait for it: with less than 0.1 s each, whoever is let in waits for less than a second. own choice */
const MOST_WAITING = 16;

/** Makes the log-in; it counts attempts as long as the process runs. */
export function createSignIn({ store, access, clock, askProviders }: SignInNeeds): SignIn {
  const accounts = createAttempts(clock, ACCOUNT);
  const addresses = createAttempts(clock, ADDRESS);
  const inTurn = createTurns(HASHED_AT_ONCE, MOST_WAITING);
  const { scope } = access.systemBy("sign-in");

  function attemptFrom(address: string | null): () => void {
    const key = networkOf(address);
    refuseFor(addresses.begin(key));
    return () => addresses.takeBack(key);
  }

  function byOf(user: User | null, address: string | null): By {
    // own choice: what names no account is not kept, as people type passwords there.
    const actor = { kind: "user", userId: user?.id ?? null, name: user?.name ?? "unknown account", address } as const;
    return { actor, scope };
  }

  function noteRefusal(user: User | null, address: string | null): Promise<void> {
    const note = { op: "log-in-refused", resource: users.name, rowId: user?.id ?? null } as const;
    return store.write((tx) => tx.note(note, byOf(user, address)));
  }

  /** The user whose account it is, who may not be locked. An account that has to wait does not count for its address. */
  async function verified({ email, password }: Account, address: string | null): Promise<User> {
    const account = email.trim().toLowerCase();
    refuseFor(accounts.begin(account));
    let takeBack: () => void;
    try {
      takeBack = attemptFrom(address);
    } catch (error) {
      accounts.takeBack(account);
      throw error;
    }
    const local = await inTurn(() => verifyHere(store, { email, password }));
    const asked = askProviders ? askProviders({ email, password }, local) : Promise.resolve(local);
    const { user, right } = await asked.catch((error: unknown) => {
      if (!(error instanceof TooManyRequests)) {
        // Nobody said that anything was wrong.
        accounts.takeBack(account);
        takeBack();
      }
      throw error;
    });
    if (!user || !right || isLocked(user.lock, clock.now())) {
      await noteRefusal(user, address);
      throw refused();
    }
    accounts.forget(account);
    takeBack();
    return user;
  }

  /** The hash of a password that a user must set at log-in. */
  async function replacing({ password, newPassword = null }: Account): Promise<string> {
    if (newPassword === null || newPassword === "") throw requiredValue("newPassword");
    if (newPassword.normalize("NFC") === password.normalize("NFC")) {
      throw invalidValue("newPassword", "It must be another one.");
    }
    return inTurn(() => hashPassword(newPassword, "newPassword"));
  }

  async function begin(user: User, address: string | null, passwordHash: string | null = null): Promise<string> {
    const by = byOf(user, address);
    const now = clock.now();
    return store.write((tx) => {
      const provider = providerOf(tx, user)?.name;
      const details = provider ? { details: { identityProvider: provider } } : {};
      tx.note({ op: "log-in", resource: users.name, rowId: user.id, ...details }, by);
      if (passwordHash !== null) {
        const password = { passwordHash, passwordChangedAt: now };
        tx.update(users, user.id, { passwordResetRequired: false }, by, password);
      }
      return openSession(tx, user, by, now);
    });
  }

  return {
    attemptFrom,
    async byPassword(account, address) {
      const user = await verified(account, address);
      const mustReplace = user.passwordResetRequired && providerOf(store, user) === null;
      return begin(user, address, mustReplace ? await replacing(account) : null);
    },
    async asUser(userId, address) {
      const user = store.get(users, userId);
      if (!user || isLocked(user.lock, clock.now())) {
        await noteRefusal(user, address);
        throw refused();
      }
      return begin(user, address);
    },
    async setPassword({ userId, password, currentPassword }, by) {
      const user = store.get(users, userId);
      if (!user) throw notFound();
      const provider = providerOf(store, user);
      if (provider) throw new ConflictError(`The password of this account is kept by ${provider.name}.`);
      const isOwn = by.actor.userId === user.id;
      if (isOwn && user.passwordHash !== null) {
        if (currentPassword === null) throw requiredValue("currentPassword");
        const account = { email: user.email ?? "", password: currentPassword };
        await verified(account, by.actor.address).catch(onField("currentPassword"));
      }
      const passwordHash = await inTurn(() => hashPassword(password));
      const reset = isOwn ? { passwordResetRequired: false } : {};
      await store.update(users, user.id, reset, by, { passwordHash, passwordChangedAt: clock.now() });
    },
  };
}

type User = RowOf<typeof users>;

/** Says of which field it was that a password was wrong. */
function onField(field: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof CallerError && error.type === "unauthorized"
      ? invalidValue(field, "It is not right.")
      : error;
  };
}

function refused(): CallerError {
  return new CallerError("unauthorized", "E-mail address or password is not right.");
}

function refuseFor(seconds: number): void {
  if (seconds > 0) throw new TooManyRequests(seconds);
}

/** What attempts are counted by: an IPv4 address, or the network that one holder of IPv6 addresses usually has. */
function networkOf(address: string | null): string {
  if (address === null || isIP(address) !== 6) return address ?? "";
  const [head = "", tail] = address.toLowerCase().split("::");
  const groups = head.split(":").filter((group) => group !== "");
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(":").filter((group) => group !== "").length;
  return [...groups, ...Array.from({ length: missing }, () => "0")].slice(0, 4).join(":");
}
