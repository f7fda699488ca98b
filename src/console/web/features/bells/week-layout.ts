import { formatSecondOfDay, secondOfDay } from "../../../../bells/local-time.ts";
import type { RingRow, RingState } from "../../api/bell-rows.ts";

/** A ring of one schedule. */
export interface ScheduleRing extends RingRow {
  bellScheduleId: string;
}

/** A block of the calendar: one ring list entry at one time, in all schedules that have it. */
export interface CalendarBlock {
  key: string;
  localDate: string;
  localTime: string;
  ringListId: string | null;
  entryId: string | null;
  messageTemplateId: string | null;
  /** The state of those that need a look most. */
  state: RingState;
  rings: readonly ScheduleRing[];
}

/** The worst first. */
const WORTH: readonly RingState[] = [
  ...(["missed", "late", "skipped", "started", "armed", "prepared", "planned"] as const),
  "rung",
];

/** The rings of several schedules as blocks, in order of day and time. */
export function blocksOf(rings: readonly ScheduleRing[]): CalendarBlock[] {
  const blocks = new Map<string, ScheduleRing[]>();
  for (const ring of rings) {
    const key = [ring.localDate, ring.localTime, ring.ringListId, ring.entryId].join(" ");
    const known = blocks.get(key);
    if (known) known.push(ring);
    else blocks.set(key, [ring]);
  }
  return [...blocks]
    .map(([key, [first, ...more]]) => {
      const { localDate, localTime, ringListId, entryId, messageTemplateId } = first as ScheduleRing;
      const all = [first as ScheduleRing, ...more];
      const state = WORTH.find((each) => all.some((ring) => ring.state === each)) ?? "planned";
      return { key, localDate, localTime, ringListId, entryId, messageTemplateId, state, rings: all };
    })
    .sort((one, other) => (one.key < other.key ? -1 : 1));
}

/** The earliest instant (epoch ms) at which one of the rings is still to come; null when none is. */
export function nextInstantOf(rings: readonly RingRow[], now: number): number | null {
  const ahead = rings.map(({ at }) => Date.parse(at)).filter((at) => at > now);
  return ahead.length === 0 ? null : Math.min(...ahead);
}

/** Which hours the calendar shows. */
export interface HourRange {
  first: number;
  /** Not shown any more. */
  end: number;
}

const USUAL: HourRange = { first: 8, end: 16 };

/** The hours that hold all blocks, and no fewer than those of a usual day. */
export function hourRangeOf(blocks: readonly Pick<CalendarBlock, "localTime">[]): HourRange {
  const hours = blocks.map(({ localTime }) => Number(localTime.slice(0, 2)));
  return { first: Math.min(USUAL.first, ...hours), end: Math.max(USUAL.end, ...hours.map((hour) => hour + 1)) };
}

/** Height of an hour in px. */
export const HOUR_PX = 84;
/** Height of a block with the gap below it, in px. */
export const BLOCK_PX = 26;

/** Offsets of the blocks of a day in px from the first hour: at their time, or below the previous block. */
export function blockPositions(blocks: readonly Pick<CalendarBlock, "localTime">[], { first }: HourRange): number[] {
  let free = 0;
  return blocks.map(({ localTime }) => {
    const place = Math.max(free, (secondOfDay(localTime) / 3_600 - first) * HOUR_PX);
    free = place + BLOCK_PX;
    return place;
  });
}

/** The time `minutes` later (or earlier), within the day. */
export function shiftTime(time: string, minutes: number): string {
  const LAST = 86_399;
  return formatSecondOfDay(Math.min(LAST, Math.max(0, secondOfDay(time) + minutes * 60)));
}
