import type { RingRow } from "../../api/bell-rows.ts";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { VerdictChip } from "../../ui/status-chip.tsx";
import { type DisplayedRingState, RING_TONES } from "./ring-tones.ts";

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

/** Icon of a state; its text is beside it or read aloud. */
export function RingStateIcon({ state }: { state: DisplayedRingState }) {
  return (
    <span className="ring-sign" aria-hidden="true">
      {SIGNS[state]}
    </span>
  );
}

/** State of a ring as icon, text and colour; once it is over, also whom it reached. */
export function RingStateChip({ ring: { state, verdict } }: { ring: Pick<RingRow, "state" | "verdict"> }) {
  const { name } = useTranslation();
  return (
    <>
      <span className={`chip ${RING_TONES[state]}`}>
        <RingStateIcon state={state} />
        {name("ring-state", state)}
      </span>
      {verdict && <VerdictChip verdict={verdict} />}
    </>
  );
}
