import { type Clock, sleep } from "#plugin-api";

/** Slows sending down while the provider throttles. */
export interface SendPacing {
  /** Resolves when the next message may be sent; rejects if the signal aborts. */
  ready(signal: AbortSignal): Promise<void>;
  /** The provider throttled a message; returns the pause in ms. */
  slowDown(): number;
  /** The provider accepted a message. */
  speedUp(): void;
}

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
/** Throttled messages that were in flight together count as one. */
const MAX_GAP_MS = 2_000;

/** After a throttled message all sending pauses, each time twice as long; then messages go one by one, ever faster. */
export function createSendPacing(clock: Clock): SendPacing {
  let pausedUntil = Number.NEGATIVE_INFINITY;
  let pauseMs = 0;
  /** Time between messages; 0 without throttling. */
  let gapMs = 0;
  let nextAt = Number.NEGATIVE_INFINITY;
  return {
    async ready(signal) {
      for (;;) {
        const now = clock.monotonicMs();
        const at = Math.max(pausedUntil, nextAt);
        if (now >= at) {
          nextAt = now + gapMs;
          return;
        }
        await sleep(clock, at - now, signal);
      }
    },
    slowDown() {
      const now = clock.monotonicMs();
      if (now < pausedUntil) return pausedUntil - now;
      pauseMs = Math.min(MAX_PAUSE_MS, Math.max(FIRST_PAUSE_MS, pauseMs * 2));
      gapMs = Math.min(MAX_GAP_MS, Math.max(20, gapMs * 2));
      pausedUntil = now + pauseMs;
      return pauseMs;
    },
    speedUp() {
      pauseMs = Math.floor(pauseMs / 2);
      gapMs = gapMs < 5 ? 0 : gapMs * 0.9;
    },
  };
}
