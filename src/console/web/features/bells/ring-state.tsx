import type { RingState } from "../../api/bell-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";

/** State of a ring as displayed, including "next". */
export type DisplayedRingState = RingState | "next";

/** A shape for each state, so that none is known by its colour alone. */
const SIGNS: Readonly<Record<DisplayedRingState, string>> = {
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

const TONES: Readonly<Record<DisplayedRingState, string>> = {
  ...{ planned: "", prepared: "", armed: "", next: "", started: "good", rung: "good" },
  ...{ late: "warn", missed: "bad", skipped: "warn" },
};

/** The tone of a state, as chips have it. */
export function ringTone(state: DisplayedRingState): string {
  return TONES[state];
}

/** Icon of a state; its text is beside it or read aloud. */
export function RingStateIcon({ state }: { state: DisplayedRingState }) {
  return (
    <span className="ring-sign" aria-hidden="true">
      {SIGNS[state]}
    </span>
  );
}

/** State of a ring as icon, text and colour. */
export function RingStateChip({ state }: { state: DisplayedRingState }) {
  const { name } = useTranslation();
  return (
    <span className={`chip ${TONES[state]}`}>
      <RingStateIcon state={state} />
      {name("ring-state", state)}
    </span>
  );
}
