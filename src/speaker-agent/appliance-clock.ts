/** Moments of one exchange, ms: asked and answered by the own monotonic clock, received and sent by the appliance's (epoch). */
export interface ClockExchange {
  askedAt: number;
  receivedAt: number;
  sentAt: number;
  answeredAt: number;
}

/** The appliance's clock as it is reckoned here. */
export interface ApplianceClock {
  addExchange(exchange: ClockExchange): void;
  /** Epoch ms of the appliance at a moment of the own monotonic clock; null before the first exchange. */
  toApplianceTime(monotonicMs: number): number | null;
  /** Half of what the best exchange leaves open, ms; null before the first one. */
  readonly uncertaintyMs: number | null;
}

/** The best exchange of so many holds: clocks drift apart. own choice */
const MAX_EXCHANGES = 16;

/** No clock drifts so far between two exchanges that are kept: it was set. own choice */
const CLOCK_STEP_MS = 250;

/** Reckons by the exchange that took least time on its way. @source RFC 5905 §8, on-wire protocol */
export function createApplianceClock(): ApplianceClock {
  const kept: { offsetMs: number; wayMs: number }[] = [];
  const best = () => kept.reduce((least, one) => (one.wayMs < least.wayMs ? one : least), kept[0] as (typeof kept)[0]);
  return {
    addExchange({ askedAt, receivedAt, sentAt, answeredAt }) {
      const offsetMs = (receivedAt - askedAt + (sentAt - answeredAt)) / 2;
      const wayMs = answeredAt - askedAt - (sentAt - receivedAt);
      // What the ways leave open does not explain it.
      const isSet = kept.some((one) => Math.abs(one.offsetMs - offsetMs) > (one.wayMs + wayMs) / 2 + CLOCK_STEP_MS);
      if (isSet) kept.length = 0;
      kept.push({ offsetMs, wayMs });
      if (kept.length > MAX_EXCHANGES) kept.shift();
    },
    toApplianceTime: (monotonicMs) => (kept.length === 0 ? null : monotonicMs + best().offsetMs),
    get uncertaintyMs() {
      return kept.length === 0 ? null : Math.max(0, best().wayMs / 2);
    },
  };
}
