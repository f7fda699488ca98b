import { type Clock, systemClock } from "../../base/clock.ts";

/** A clock that a simulation turns: wall and monotonic time apart, nothing happens by itself. */
export interface SimulatedClock extends Clock {
  /** Both clocks go on. */
  pass(ms: number): void;
  /** The wall clock alone is set. */
  step(ms: number): void;
}

/** Makes a clock at `start`, epoch ms. Timers never fire: whoever simulates looks when something is due. */
export function createSimulatedClock(start: number): SimulatedClock {
  let wall = start;
  let monotonicMs = 0;
  const never = { cancel: () => undefined };
  return {
    now: () => wall,
    monotonicMs: () => monotonicMs,
    after: () => never,
    every: () => never,
    soon: systemClock.soon,
    pass(ms) {
      wall += ms;
      monotonicMs += ms;
    },
    step(ms) {
      wall += ms;
    },
  };
}

/** Numbers from 0 to 1 that look random and come again with the same seed (mulberry32). */
export function createChance(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
