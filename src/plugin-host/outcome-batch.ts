import type { Clock, Timer } from "../lib/clock.ts";
import type { OutcomeReport } from "./plugin-protocol.ts";

/** How long outcomes are collected for one message. */
const BATCH_WINDOW_MS = 15;
/** A batch of this size is sent at once. */
const MAX_REPORTS = 500;

/** Batches a plugin's outcomes, so that thousands of responding devices do not cause thousands of messages. */
export interface OutcomeBatcher {
  add(note: OutcomeReport): void;
  flush(): void;
}

/** Creates a batcher that sends 15 ms after the first outcome, or when the batch is full. */
export function createOutcomeBatcher(clock: Clock, send: (notes: OutcomeReport[]) => void): OutcomeBatcher {
  let notes: OutcomeReport[] = [];
  let timer: Timer | null = null;
  const flush = (): void => {
    timer?.cancel();
    timer = null;
    if (notes.length === 0) return;
    const full = notes;
    notes = [];
    send(full);
  };
  return {
    add(note) {
      notes.push(note);
      if (notes.length >= MAX_REPORTS) flush();
      else timer ??= clock.after(BATCH_WINDOW_MS, flush);
    },
    flush,
  };
}
