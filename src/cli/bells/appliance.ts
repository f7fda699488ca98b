import type { Timetable } from "../../bells/timetables.ts";
import type { BellScheduleEntry, BellScheduleException, RingListEntry } from "../../resources/bells/bell-parts.ts";
import { type ApiClient, listAll } from "../api-client.ts";

interface ScheduleJson {
  id: string;
  name: string;
  timeZone: string | null;
  startDate: string;
  endDate: string;
  numWeeks: number;
  rotation: "calendar" | "school-day" | null;
  bellScheduleEntries: BellScheduleEntry[];
  bellScheduleExceptions: BellScheduleException[];
}

/** All schedules that the caller sees, with their ring lists; own choice: those without a zone are read as in UTC. */
export async function readTimetables(api: ApiClient): Promise<Timetable[]> {
  const ringLists = await listAll<{ id: string; entries: RingListEntry[] }>(api, "/ring-lists");
  const schedules = await listAll<ScheduleJson>(api, "/bell-schedules");
  return schedules.map(({ bellScheduleEntries, bellScheduleExceptions, rotation, timeZone, ...schedule }) => ({
    schedule: {
      ...schedule,
      timeZone: timeZone ?? "UTC",
      rotation: rotation ?? "calendar",
      entries: bellScheduleEntries,
    },
    ringLists,
    exceptions: bellScheduleExceptions,
  }));
}
