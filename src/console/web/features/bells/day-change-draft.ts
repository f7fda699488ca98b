import { parseSecondOfDay } from "../../../../bells/local-time.ts";

/** What can be done with a day; `exception` stays in the schedules, all else is for once. */
export const DAY_CHANGE_TYPES = [
  ...(["delay", "early-dismissal", "other-day", "no-bells", "mute", "mute-hours", "exception"] as const),
] as const;

/** Type of a day change. */
export type DayChangeType = (typeof DAY_CHANGE_TYPES)[number];

/** A change of days as it is being made; times as `HH:mm:ss`, days as `YYYY-MM-DD`, "" for none. */
export interface DayChangeDraft {
  kind: DayChangeType;
  startDate: string;
  endDate: string;
  minutes: number;
  from: string;
  until: string;
  /** Whether an other day rings as another date or as a ring list. */
  as: "date" | "ring-list";
  likeDate: string;
  ringListId: string | null;
  description: string;
  all: boolean;
  bellScheduleIds: readonly string[];
}

/** Initial draft: a delay of one hour, the most frequent change. */
export function newDayChangeDraft(day: string, bellScheduleIds: readonly string[]): DayChangeDraft {
  return {
    ...{ kind: "delay", startDate: day, endDate: "", minutes: 60, from: "", until: "12:00:00", as: "date" },
    ...{ likeDate: "", ringListId: null, description: "", all: bellScheduleIds.length === 0, bellScheduleIds },
  };
}

/** Route and body of a draft; null while it is incomplete. */
export function dayChangeRequest(draft: DayChangeDraft): { isLasting: boolean; body: Record<string, unknown> } | null {
  const { kind, startDate, all, bellScheduleIds } = draft;
  const own = membersOf(draft);
  if (!own || startDate === "" || (!all && bellScheduleIds.length === 0)) return null;
  const body = {
    ...own,
    startDate,
    endDate: draft.endDate || startDate,
    ...(draft.description === "" ? {} : { description: draft.description }),
    ...(all ? { allBellSchedules: true } : { bellScheduleIds }),
  };
  return { isLasting: kind === "exception", body };
}

/** The members that a kind has beside days and schedules; null while one is missing. */
function membersOf(draft: DayChangeDraft): Record<string, unknown> | null {
  const { kind, minutes, from, until, as, likeDate, ringListId } = draft;
  const isTime = (time: string): boolean => parseSecondOfDay(time) !== null || time === "24:00:00";
  switch (kind) {
    case "delay":
      return minutes >= 1 ? { kind, minutes } : null;
    case "early-dismissal":
      return isTime(until) ? { kind, until } : null;
    case "other-day":
      if (as === "date") return likeDate === "" ? null : { kind, likeDate };
      return ringListId === null ? null : { kind, ringListId };
    case "no-bells":
      return { kind };
    case "exception":
      return ringListId === null ? {} : { ringListId };
    default:
      return isTime(until) ? { kind, until, ...(isTime(from) ? { from } : {}) } : null;
  }
}
