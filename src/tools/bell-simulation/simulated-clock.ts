import { type Clock, systemClock } from "../../lib/clock.ts";

/** A clock that a simulation turns: wall and monotonic time apart, nothing happens by itself. */
export interface SimulatedClock extends Clock {
  /** Both clocks go on. */
  advance(ms: number): void;
  /** The wall clock alone is set. */
  setWallClock(ms: number): void;
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
    defer: systemClock.defer,
    advance(ms) {
      wall += ms;
      monotonicMs += ms;
    },
    setWallClock(ms) {
      wall += ms;
    },
  };
}

/** Numbers from 0 to 1 that look random and come again with the same seed (mulberry32). */
export function createSeededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
