/** The part of base/clock.ts that a browser has; what follows time takes one. */
export interface BrowserClock {
  now(): number;
  /** Calls `fn` once after `delayMs`. */
  after(delayMs: number, fn: () => void): { cancel(): void };
  /** Calls `fn` every `periodMs` until cancelled. */
  every(periodMs: number, fn: () => void): { cancel(): void };
}

/** A clock that shows the time of the appliance. */
export interface ServerClock extends BrowserClock {
  /** Takes over what the appliance's clock shows now, in epoch ms. */
  set(serverNowMs: number): void;
}

/** Differences below this come from the network. */
const MIN_DIFFERENCE_MS = 1_000;

/** A browser's clock may be minutes wrong: this one follows the appliance's, as far as it is known. */
export function createServerClock(clock: BrowserClock): ServerClock {
  let aheadMs = 0;
  return {
    now: () => clock.now() + aheadMs,
    after: (delayMs, fn) => clock.after(delayMs, fn),
    every: (periodMs, fn) => clock.every(periodMs, fn),
    set(serverNowMs) {
      const difference = serverNowMs - clock.now();
      if (Math.abs(difference - aheadMs) >= MIN_DIFFERENCE_MS) aheadMs = difference;
    },
  };
}

/** The clock of the browser. */
export const browserClock: BrowserClock = {
  now: () => Date.now(),
  after(delayMs, fn) {
    const timer = setTimeout(fn, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
  every(periodMs, fn) {
    const timer = setInterval(fn, periodMs);
    return { cancel: () => clearInterval(timer) };
  },
};
