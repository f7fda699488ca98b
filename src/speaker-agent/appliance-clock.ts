/**
 * Timestamps of one exchange in ms: `askedAt` and `answeredAt` by the local monotonic clock, `receivedAt` and `sentAt`
 * by the appliance's clock (epoch).
 */
export interface ClockExchange {
  askedAt: number;
  receivedAt: number;
  sentAt: number;
  answeredAt: number;
}

/** Estimate of the appliance's clock. */
export interface ApplianceClock {
  addExchange(exchange: ClockExchange): void;
  /** Converts local monotonic time to epoch ms of the appliance; null before the first exchange. */
  toApplianceTime(monotonicMs: number): number | null;
  /** Half of the best exchange's round-trip time, ms; null before the first exchange. */
  readonly uncertaintyMs: number | null;
}

/** Number of recent exchanges to choose the best from; older ones are outdated by clock drift. */
const MAX_EXCHANGES = 16;

/** A larger deviation than drift explains: the appliance's clock was set. */
const CLOCK_STEP_MS = 250;

/** Creates the estimate; the exchange with the shortest round trip counts. @source RFC 5905 §8, on-wire protocol */
export function createApplianceClock(): ApplianceClock {
  const kept: { offsetMs: number; roundTripMs: number }[] = [];
  const best = () =>
    kept.reduce((min, one) => (one.roundTripMs < min.roundTripMs ? one : min), kept[0] as (typeof kept)[0]);
  return {
    addExchange({ askedAt, receivedAt, sentAt, answeredAt }) {
      const offsetMs = (receivedAt - askedAt + (sentAt - answeredAt)) / 2;
      const roundTripMs = answeredAt - askedAt - (sentAt - receivedAt);
      // Deviation beyond the uncertainty of both round trips.
      const isSet = kept.some(
        (one) => Math.abs(one.offsetMs - offsetMs) > (one.roundTripMs + roundTripMs) / 2 + CLOCK_STEP_MS,
      );
      if (isSet) kept.length = 0;
      kept.push({ offsetMs, roundTripMs });
      if (kept.length > MAX_EXCHANGES) kept.shift();
    },
    toApplianceTime: (monotonicMs) => (kept.length === 0 ? null : monotonicMs + best().offsetMs),
    get uncertaintyMs() {
      return kept.length === 0 ? null : Math.max(0, best().roundTripMs / 2);
    },
  };
}
