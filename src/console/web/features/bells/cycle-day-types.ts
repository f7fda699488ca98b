import type { BellScheduleRow } from "../../api/bell-rows.ts";

/** A ring list with the days of a cycle that ring it. */
export interface CycleDayType {
  ringListId: string;
  /** Days by their week, both from 0; days 0 for Monday. */
  weeks: readonly { week: number; days: readonly number[] }[];
}

/** The ring lists of a schedule's cycle, in the order in which they come first. */
export function cycleDayTypes({
  bellScheduleEntries,
  numWeeks,
}: Pick<BellScheduleRow, "bellScheduleEntries" | "numWeeks">) {
  const inOrder = [...bellScheduleEntries].sort((one, other) => one.entryNum - other.entryNum);
  const ids = [...new Set(inOrder.flatMap(({ ringListId }) => ringListId ?? []))];
  return ids.map((ringListId): CycleDayType => {
    const numbers = inOrder.filter((day) => day.ringListId === ringListId).map(({ entryNum }) => entryNum);
    const weeks = Array.from({ length: numWeeks }, (_, week) => ({
      week,
      days: numbers.filter((entryNum) => Math.floor(entryNum / 7) === week).map((entryNum) => entryNum % 7),
    }));
    return { ringListId, weeks: weeks.filter(({ days }) => days.length > 0) };
  });
}
