import type { Clock, Timer } from "../lib/clock.ts";
import type { OutcomeReport } from "./plugin-protocol.ts";

/** How long reports are gathered: one message carries those of about one turn. */
const BATCH_WINDOW_MS = 15;
/** A batch this long leaves at once. */
const MAX_REPORTS = 500;

/** Gathers a plugin's reports, so that thousands of answering devices do not mean thousands of messages. */
export interface OutcomeBatcher {
  add(note: OutcomeReport): void;
  flush(): void;
}

/** Makes a batch that sends itself 15 ms after its first report, or when it is full. */
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
