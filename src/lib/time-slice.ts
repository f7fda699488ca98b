import { type Clock, yieldToEventLoop } from "./clock.ts";

/** Time that a chunked job runs before other work of the event loop gets its turn. */
const TIME_SLICE_MS = 4;

/**
 * Limits how long a chunked job blocks the event loop: `if (slice.isOver()) await slice.next();` after each step. In a
 * transaction, where nothing may be awaited, `isOver` says when to leave the rest to the next one.
 */
export interface TimeSlice {
  isOver(): boolean;
  /** Lets other work run, then starts a new slice. */
  next(): Promise<void>;
}

/** Starts a slice. `letOthersRun` replaces one turn of the event loop, for example by a pause. */
export function createTimeSlice(
  clock: Clock,
  { sliceMs = TIME_SLICE_MS, letOthersRun }: { sliceMs?: number; letOthersRun?: () => Promise<void> } = {},
): TimeSlice {
  let endsAt = clock.monotonicMs() + sliceMs;
  return {
    isOver: () => clock.monotonicMs() >= endsAt,
    async next() {
      await (letOthersRun ? letOthersRun() : yieldToEventLoop(clock));
      endsAt = clock.monotonicMs() + sliceMs;
    },
  };
}
