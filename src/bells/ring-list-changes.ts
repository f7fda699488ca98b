import type { RingListEntry } from "../resources/bells/bell-parts.ts";
import { secondsOf, timeOf } from "./local-times.ts";

/** What one change makes of the second of the day at which a bell rings; null: it does not ring. */
type Change = (second: number) => number | null;

const DAY_S = 86_400;

const TIME = "([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d";
const SHIFT = /^(delay|earlier) (\d{1,4})$/;
const END = new RegExp(`^end (?<end>${TIME})$`);
const MUTE = new RegExp(`^mute (?<from>${TIME}) (?<to>${TIME})$`);

/** True for a change that `changeRings` understands: `delay 60`, `earlier 30`, `end 12:30:00`, `mute 08:00:00 11:00:00`. */
export function isRingListChange(text: string): boolean {
  return changeOf(text) !== null;
}

/**
 * The rings of a day on which a ring list is changed, each change working on what the one before left; they keep their
 * ids. `end`: later ones do not ring; `mute`: those from the first time on (included) to the second (not included) don't.
 * own choice: what would ring on another date does not ring.
 */
export function changeRings(entries: readonly RingListEntry[], changes: readonly string[]): RingListEntry[] {
  const steps = changes.map(changeOf).filter((step) => step !== null);
  return entries.flatMap((entry) => {
    let second: number | null = secondsOf(entry.time);
    for (const step of steps) if (second !== null) second = step(second);
    return second === null ? [] : [{ ...entry, time: timeOf(second) }];
  });
}

function changeOf(text: string): Change | null {
  const shift = SHIFT.exec(text);
  if (shift) {
    const by = Number(shift[2]) * (shift[1] === "delay" ? 60 : -60);
    return (second) => (second + by >= 0 && second + by < DAY_S ? second + by : null);
  }
  const end = END.exec(text)?.groups?.end;
  if (end) return (second) => (second <= secondsOf(end) ? second : null);
  const { from, to } = MUTE.exec(text)?.groups ?? {};
  if (!from || !to) return null;
  return (second) => (second >= secondsOf(from) && second < secondsOf(to) ? null : second);
}
