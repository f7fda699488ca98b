import { type OutcomeTone, VERDICT_TONES } from "../../../../resources/notifications/device-outcomes.ts";
import type { RingRow, RingState } from "../../api/bell-rows.ts";

/** State of a ring as displayed, including "next". */
export type DisplayedRingState = RingState | "next";

/** Tone of each state, without the outcome. */
export const RING_TONES: Readonly<Record<DisplayedRingState, OutcomeTone>> = {
  ...{ planned: "", prepared: "", armed: "", next: "", started: "", rung: "" },
  ...{ late: "warn", missed: "bad", skipped: "muted" },
};

/** Tones from the worst; what is not here does not stand out. */
const WORST_FIRST: readonly OutcomeTone[] = ["bad", "warn", "info", "muted"];

/** The tone of rings in one state: green only where all were heard. */
export function ringTone(state: DisplayedRingState, rings: readonly Pick<RingRow, "verdict">[]): OutcomeTone {
  const tones = [RING_TONES[state], ...rings.map(({ verdict }) => (verdict ? VERDICT_TONES[verdict] : ""))];
  const worst = WORST_FIRST.find((tone) => tones.includes(tone));
  const isHeard = rings.length > 0 && rings.every(({ verdict }) => verdict === "reached");
  return worst ?? (isHeard && state === "rung" ? "good" : "");
}
