/** The part of base/clock.ts that a browser has; what follows time takes one. */
export interface BrowserClock {
  now(): number;
  /** Calls `fn` once after `delayMs`. */
  after(delayMs: number, fn: () => void): { cancel(): void };
  /** Calls `fn` every `periodMs` until cancelled. */
  every(periodMs: number, fn: () => void): { cancel(): void };
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
