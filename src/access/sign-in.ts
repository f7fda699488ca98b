import { isIP } from "node:net";
import type { Clock } from "../base/clock.ts";
import { CallerError, TooManyRequests } from "../base/errors.ts";
import users from "../resources/people/users.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Store } from "../store/store.ts";
import { createAttempts } from "./attempts.ts";
import { isLocked } from "./locks.ts";
import { verifyPassword } from "./passwords.ts";
import type { Access } from "./principal.ts";
import { openSession } from "./session.ts";

/** What `createSignIn` needs. */
export interface SignInNeeds {
  store: Store;
  access: Access;
  clock: Clock;
}

/** Log-in at the console. */
export interface SignIn {
  /**
   * Begins a session and returns the value of its cookie. Throws CallerError `unauthorized` in the same words whatever
   * was wrong, TooManyRequests after too many attempts on the account or from the address.
   */
  byPassword(account: { email: string; password: string }, address: string | null): Promise<string>;
  /** Begins a session for a user who has just proven to be one. */
  asUser(userId: string, address: string | null): Promise<string>;
  /** Counts an attempt at a secret from an address. Throws TooManyRequests; the function returned takes it back. */
  attemptFrom(address: string | null): () => void;
}

/** own choice: an account never waits for long, since whoever knows its name could shut its owner out. */
const ACCOUNT = { free: 5, firstMs: 1_000, mostMs: 30_000 };
/** own choice: many people may share one address. */
const ADDRESS = { free: 20, firstMs: 1_000, mostMs: 60_000 };
/** Passwords hashed at a time, and those that may wait for it. own choice: other work needs the thread pool too. */
const AT_ONCE = 2;
const MOST_WAITING = 50;

/** Makes the log-in; it counts attempts as long as the process runs. */
export function createSignIn({ store, access, clock }: SignInNeeds): SignIn {
  const accounts = createAttempts(clock, ACCOUNT);
  const addresses = createAttempts(clock, ADDRESS);
  const inTurn = createTurns();

  function attemptFrom(address: string | null): () => void {
    const key = networkOf(address);
    refuseFor(addresses.begin(key));
    return () => addresses.takeBack(key);
  }

  function byOf(user: RowOf<typeof users> | null, address: string | null): By {
    // own choice: what names no account is not kept, as people type passwords there.
    const actor = { kind: "user", userId: user?.id ?? null, name: user?.name ?? "unknown account", address } as const;
    return { actor, scope: access.systemBy("sign-in").scope };
  }

  async function begin(user: RowOf<typeof users>, address: string | null): Promise<string> {
    const by = byOf(user, address);
    return store.write((tx) => {
      tx.note({ op: "log-in", resource: users.name, rowId: user.id }, by);
      return openSession(tx, user, by, clock.now());
    });
  }

  function noteRefusal(user: RowOf<typeof users> | null, address: string | null): Promise<void> {
    const note = { op: "log-in-refused", resource: users.name, rowId: user?.id ?? null } as const;
    return store.write((tx) => tx.note(note, byOf(user, address)));
  }

  return {
    attemptFrom,
    async byPassword({ email, password }, address) {
      const account = email.trim().toLowerCase();
      const takeBack = attemptFrom(address);
      refuseFor(accounts.begin(account));
      const user = findUser(store, account);
      const right = await inTurn(() => verifyPassword(password, user?.passwordHash ?? null));
      if (!user || !right || isLocked(user.lock, clock.now())) {
        await noteRefusal(user, address);
        throw refused();
      }
      accounts.forget(account);
      takeBack();
      return begin(user, address);
    },
    async asUser(userId, address) {
      const user = store.get(users, userId);
      if (!user) throw refused();
      return begin(user, address);
    },
  };
}

function findUser(store: Store, email: string): RowOf<typeof users> | null {
  const found = store.one<{ pk: number }>("SELECT pk FROM users WHERE email = ? COLLATE NOCASE", email);
  return found && store.byPk(users, found.pk);
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

/** Lets few run at a time; the others wait in order. Throws TooManyRequests when too many wait. */
function createTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= AT_ONCE) {
      if (waiting.length >= MOST_WAITING) throw new TooManyRequests(1);
      await new Promise<void>((resolve) => void waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  };
}
