import type { Clock, Timer } from "../base/clock.ts";
import type { OutcomeNote } from "./wire.ts";

/** How long reports are gathered: one message carries those of about one turn. */
const FOLD_MS = 15;
/** A batch this long leaves at once. */
const MOST_NOTES = 500;

/** Gathers a plugin's reports, so that thousands of answering devices do not mean thousands of messages. */
export interface OutcomeBatch {
  add(note: OutcomeNote): void;
  flush(): void;
}

/** Makes a batch that sends itself 15 ms after its first report, or when it is full. */
export function createOutcomeBatch(clock: Clock, send: (notes: OutcomeNote[]) => void): OutcomeBatch {
  let notes: OutcomeNote[] = [];
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
      if (notes.length >= MOST_NOTES) flush();
      else timer ??= clock.after(FOLD_MS, flush);
    },
    flush,
  };
}
