import { isIP } from "node:net";
import type { Clock } from "../lib/clock.ts";
import { TooManyRequestsError } from "../lib/errors.ts";
import { createSemaphore } from "../lib/semaphore.ts";
import { type AttemptThrottle, createAttemptThrottle } from "./attempt-throttle.ts";

/** A counted attempt. */
export interface LoginAttempt {
  /** The password was not checked: the attempt does not count. */
  rollback(): void;
  /** The password was right: the attempt does not count, and earlier ones from there no longer do. */
  succeed(): void;
}

/**
 * Rate limits of log-ins: delays after wrong passwords and codes, and places for password hashes. Kept in memory. All
 * methods throw TooManyRequestsError.
 */
export interface LoginThrottle {
  /**
   * Counts an attempt at an account from a network (`networkOf` the address) or a known browser (its token). One that is
   * refused counts for nothing.
   */
  beginPassword(account: string, from: string, address: string | null): LoginAttempt;
  /** Hashes in turn; known browsers have their own place. */
  hashInTurn<T>(account: string, isKnown: boolean, work: () => Promise<T>): Promise<T>;
  /** Counts a code of a second factor. */
  beginCode(key: string): void;
  succeedCode(key: string): void;
  /** Counts an attempt of another kind from the address; call the returned function on success. */
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

/**
 * Codes of second factors, per account, and separately per known browser. Only who knows the password can try codes, so
 * the delays are long: about 100 guesses a day at one of a million codes.
 */
const CODE_BACKOFF = { freeAttempts: 10, initialDelayMs: 1_000, maxDelayMs: 900_000, retentionMs: 86_400_000 };

/** Concurrent password hashes; other work needs the thread pool too. */
const MAX_CONCURRENT_HASHES = 2;
/** Queued password hashes: at less than 0.1 s each, an accepted login waits less than a second. */
const MAX_QUEUED_HASHES = 16;
/** Those of known browsers do not wait behind a flood of guesses. */
const MAX_CONCURRENT_HASHES_OF_KNOWN = 1;

/** Creates the throttle. */
export function createLoginThrottle(clock: Clock): LoginThrottle {
  const accounts = createAttemptThrottle(clock, ACCOUNT_BACKOFF);
  const distributed = createAttemptThrottle(clock, DISTRIBUTED_BACKOFF);
  const addresses = createAttemptThrottle(clock, ADDRESS_BACKOFF);
  const codes = createAttemptThrottle(clock, CODE_BACKOFF);
  const pending = new Map<string, number>();
  const limitHashing = createSemaphore(MAX_CONCURRENT_HASHES, MAX_QUEUED_HASHES);
  const limitKnownHashing = createSemaphore(MAX_CONCURRENT_HASHES_OF_KNOWN, MAX_QUEUED_HASHES);

  return {
    beginPassword(account, from, address) {
      const undo: (() => void)[] = [];
      const rollback = (): void => {
        for (const each of undo) each();
      };
      const count = (throttle: AttemptThrottle, key: string): void => {
        const seconds = throttle.begin(key);
        if (seconds === 0) return void undo.push(() => throttle.rollback(key));
        rollback();
        throw new TooManyRequestsError(seconds);
      };
      count(accounts, `${account} ${from}`);
      // Guesses elsewhere say nothing about a known browser, nor about its network.
      if (from === networkOf(address)) {
        count(distributed, account);
        count(addresses, throttleKeyOf(address));
      }
      return {
        rollback,
        succeed() {
          rollback();
          accounts.reset(`${account} ${from}`);
        },
      };
    },
    async hashInTurn(account, isKnown, work) {
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
    },
    beginCode: (key) => assertNotThrottled(codes.begin(key)),
    succeedCode: (key) => codes.reset(key),
    registerAttempt(address) {
      const key = throttleKeyOf(address);
      assertNotThrottled(addresses.begin(key));
      return () => addresses.rollback(key);
    },
  };
}

function assertNotThrottled(seconds: number): void {
  if (seconds > 0) throw new TooManyRequestsError(seconds);
}

/** Network of an address: the first three numbers of IPv4, or the /64 of IPv6. */
export function networkOf(address: string | null): string {
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
