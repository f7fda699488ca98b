import { mondayOf, parseDayNumber } from "../../../../bells/local-time.ts";
import type { BellScheduleRow, ScheduleExceptionRow } from "../../api/bell-rows.ts";

/** Type of a day: outside the schedule, without rings in the cycle, regular, or changed. */
export type DayMarker = "outside" | "silent" | "rings" | "otherwise" | "changed" | "no-bells";

/** A day of one schedule. */
export interface MarkedDay {
  mark: DayMarker;
  exception: ScheduleExceptionRow | null;
}

/** Marker of a schedule on a day, `YYYY-MM-DD`. */
export function dayMarkerOf(schedule: BellScheduleRow, day: string): MarkedDay {
  if (day < schedule.startDate || day > schedule.endDate) return { mark: "outside", exception: null };
  const exception =
    schedule.bellScheduleExceptions.find(({ startDate, endDate }) => startDate <= day && day <= endDate) ?? null;
  if (exception) return { mark: markOfException(exception), exception };
  // Which days ring follows the weeks in either rotation; only which list they ring does not.
  const at = (parseDayNumber(day) - mondayOf(parseDayNumber(schedule.startDate))) % (7 * schedule.numWeeks);
  const rings = schedule.bellScheduleEntries.some(({ entryNum, ringListId }) => entryNum === at && ringListId !== null);
  return { mark: rings ? "rings" : "silent", exception: null };
}

function markOfException({ ringListId, dayChangeId }: ScheduleExceptionRow): DayMarker {
  if (ringListId === null) return "no-bells";
  return dayChangeId ? "changed" : "otherwise";
}

/** What stands out most comes first. */
const WORTH: readonly DayMarker[] = ["changed", "no-bells", "otherwise", "rings", "silent", "outside"];

/** Marker of a day over several schedules: the most significant one, with its reason. */
export function combinedDayMarker(
  schedules: readonly BellScheduleRow[],
  day: string,
): { mark: DayMarker; why: string | null } {
  const days = schedules.map((schedule) => dayMarkerOf(schedule, day));
  const mark = WORTH.find((each) => days.some((marked) => marked.mark === each)) ?? "outside";
  const why = days.find((marked) => marked.mark === mark && marked.exception?.description)?.exception?.description;
  return { mark, why: why ?? null };
}
