import type { Clock } from "../base/clock.ts";

/** Moments of one exchange, epoch ms: asked and answered by the own clock, received and sent by the appliance's. */
export interface Exchange {
  askedAt: number;
  receivedAt: number;
  sentAt: number;
  answeredAt: number;
}

/** The appliance's clock as it is reckoned here. */
export interface ApplianceClock {
  learn(exchange: Exchange): void;
  /** Epoch ms of the appliance at a moment of the own monotonic clock; null before the first exchange. */
  at(monotonicMs: number): number | null;
  /** Half of what the best exchange leaves open, ms; null before the first one. */
  readonly doubtMs: number | null;
}

/** The best exchange of so many holds: clocks drift apart. own choice */
const KEPT = 16;

/** Reckons by the exchange that took least time on its way. @source RFC 5905 §8, on-wire protocol */
export function createApplianceClock(clock: Clock): ApplianceClock {
  const kept: { offsetMs: number; wayMs: number }[] = [];
  const best = () => kept.reduce((least, one) => (one.wayMs < least.wayMs ? one : least), kept[0] as (typeof kept)[0]);
  return {
    learn({ askedAt, receivedAt, sentAt, answeredAt }) {
      // By the monotonic clock, so that a wall clock that is set changes nothing.
      const wallToMonotonicMs = clock.monotonicMs() - clock.now();
      const offsetMs = (receivedAt - askedAt + (sentAt - answeredAt)) / 2 - wallToMonotonicMs;
      kept.push({ offsetMs, wayMs: answeredAt - askedAt - (sentAt - receivedAt) });
      if (kept.length > KEPT) kept.shift();
    },
    at: (monotonicMs) => (kept.length === 0 ? null : monotonicMs + best().offsetMs),
    get doubtMs() {
      return kept.length === 0 ? null : Math.max(0, best().wayMs / 2);
    },
  };
}
