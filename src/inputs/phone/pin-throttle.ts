import { type AttemptThrottle, createAttemptThrottle } from "../../auth/attempt-throttle.ts";
import type { Clock } from "../../lib/clock.ts";
import type { CallSession } from "./call-session.ts";

type Caller = Pick<CallSession, "plugin" | "call">;

/**
 * Limits wrong PINs. Of a telephone whose password was proven only its own count, so that strangers cannot lock it out.
 * All others may name any number: they are counted by number, by the address that sent the call, and all together.
 * @source docs/decisions/0640-calls-to-the-appliance.md, PINs
 */
export interface PinThrottle {
  /** Seconds until the caller may try a PIN of the configuration; 0 if allowed. */
  waitSeconds(caller: Caller, configurationId: string): number;
  /** Registers a try, which counts as wrong until `accept`; false if it is not allowed. */
  begin(caller: Caller, configurationId: string): boolean;
  /** The PIN of the last try was right. */
  accept(caller: Caller, configurationId: string): void;
}

const DAY_MS = 86_400_000;
const LONGEST_DELAY_MS = 300_000;
/** The third wrong PIN locks for 5 minutes, doubled with each further one up to an hour. */
const CALLER_LOCK = { freeAttempts: 2, initialDelayMs: 300_000, maxDelayMs: 3_600_000, retentionMs: DAY_MS };
/** Of all callers behind one address, such as a call manager's, and of all callers of a configuration. */
const SHARED_LOCK = {
  ...{ initialDelayMs: 1_000, maxDelayMs: LONGEST_DELAY_MS, decayIntervalMs: LONGEST_DELAY_MS },
  retentionMs: DAY_MS,
};
const SOURCE_LOCK = { ...SHARED_LOCK, freeAttempts: 12 };
const CONFIGURATION_LOCK = { ...SHARED_LOCK, freeAttempts: 20 };

/** Creates the limits, all unused. */
export function createPinThrottle(clock: Clock): PinThrottle {
  const [byCaller, bySource, byConfiguration] = [CALLER_LOCK, SOURCE_LOCK, CONFIGURATION_LOCK].map((policy) =>
    createAttemptThrottle(clock, policy),
  ) as [AttemptThrottle, AttemptThrottle, AttemptThrottle];
  /** The caller first. A right PIN of another configuration must not clear the wrong ones of this. */
  const limitsOf = ({ plugin, call }: Caller, configurationId: string): [AttemptThrottle, string][] => {
    const { source, isAuthenticated, callingNumber } = call;
    if (isAuthenticated) return [[byCaller, JSON.stringify([plugin, source, configurationId])]];
    return [
      [byCaller, JSON.stringify([plugin, source, configurationId, callingNumber])],
      [bySource, JSON.stringify([plugin, source])],
      [byConfiguration, configurationId],
    ];
  };
  /** Registers with all limits, or with none; returns the seconds to wait. */
  const register = (limits: [AttemptThrottle, string][]): number => {
    for (const [at, [throttle, key]] of limits.entries()) {
      const wait = throttle.begin(key);
      if (wait === 0) continue;
      for (const [earlier, its] of limits.slice(0, at)) earlier.rollback(its);
      return wait;
    }
    return 0;
  };
  return {
    waitSeconds(caller, configurationId) {
      const limits = limitsOf(caller, configurationId);
      const wait = register(limits);
      if (wait === 0) for (const [throttle, key] of limits) throttle.rollback(key);
      return wait;
    },
    begin: (caller, configurationId) => register(limitsOf(caller, configurationId)) === 0,
    accept(caller, configurationId) {
      const [[own, key] = [], ...shared] = limitsOf(caller, configurationId);
      if (own && key !== undefined) own.reset(key);
      for (const [throttle, its] of shared) throttle.rollback(its);
    },
  };
}
