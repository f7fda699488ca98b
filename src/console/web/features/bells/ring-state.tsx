import type { RingState } from "../../api/bell-rows.ts";
import { useWords } from "../../i18n/use-translation.tsx";

/** What is shown of a ring: its state, or that it is the next one. */
export type ShownRingState = RingState | "next";

/** A shape for each state, so that none is known by its colour alone. */
const SIGNS: Readonly<Record<ShownRingState, string>> = {
  planned: "○",
  prepared: "○",
  armed: "○",
  next: "▶",
  started: "♪",
  rung: "✓",
  late: "!",
  missed: "✕",
  skipped: "–",
};

const TONES: Readonly<Record<ShownRingState, string>> = {
  ...{ planned: "", prepared: "", armed: "", next: "", started: "good", rung: "good" },
  ...{ late: "warn", missed: "bad", skipped: "warn" },
};

/** The tone of a state, as chips have it. */
export function ringTone(state: ShownRingState): string {
  return TONES[state];
}

/** The shape of a state; its word stands beside it or is read aloud. */
export function RingSign({ state }: { state: ShownRingState }) {
  return (
    <span className="ring-sign" aria-hidden="true">
      {SIGNS[state]}
    </span>
  );
}

/** How far a ring has come: shape, word and colour. */
export function RingStateChip({ state }: { state: ShownRingState }) {
  const { name } = useWords();
  return (
    <span className={`chip ${TONES[state]}`}>
      <RingSign state={state} />
      {name("ring-state", state)}
    </span>
  );
}
