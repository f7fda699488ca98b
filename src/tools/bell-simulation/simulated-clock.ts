import { type Clock, systemClock } from "../../lib/clock.ts";

/** A simulated clock: wall time and monotonic time can diverge; nothing happens by itself. */
export interface SimulatedClock extends Clock {
  /** Advances both clocks. */
  advance(ms: number): void;
  /** Sets the wall clock only. */
  setWallClock(ms: number): void;
}

/** Creates a clock at `start`, epoch ms. Timers never fire: the simulation polls instead. */
export function createSimulatedClock(start: number): SimulatedClock {
  let wall = start;
  let monotonicMs = 0;
  const neverFires = { cancel: () => undefined };
  return {
    now: () => wall,
    monotonicMs: () => monotonicMs,
    after: () => neverFires,
    every: () => neverFires,
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

/** Pseudo-random numbers in [0, 1), reproducible by seed (mulberry32). */
export function createSeededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
