import { type ApiClient, listAll } from "../../api-client/api-client.ts";
import type { Timetable } from "../../bells/timetables.ts";
import { CallerError } from "../../lib/errors.ts";
import type { BellScheduleEntry, BellScheduleException, RingListEntry } from "../../resources/bells/bell-fields.ts";

interface ScheduleRow {
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

/** All bell schedules visible to the caller, with their ring lists; default time zone: the appliance's, else UTC. */
export async function readTimetables(api: ApiClient): Promise<Timetable[]> {
  const ringLists = await listAll<{ id: string; entries: RingListEntry[] }>(api, "/ring-lists");
  const schedules = await listAll<ScheduleRow>(api, "/bell-schedules");
  const defaultZone = await applianceTimeZone(api);
  return schedules.map(({ bellScheduleEntries, bellScheduleExceptions, rotation, timeZone, ...schedule }) => ({
    schedule: {
      ...schedule,
      timeZone: timeZone ?? defaultZone,
      rotation: rotation ?? "calendar",
      entries: bellScheduleEntries,
    },
    ringLists,
    exceptions: bellScheduleExceptions,
  }));
}

/** The zone of the appliance that answers, which may be one of several; UTC if the caller may not see it. */
async function applianceTimeZone(api: ApiClient): Promise<string> {
  const { isTimeZone } = await import("../../resources/bells/time-zones.ts");
  const { ONPREM_EXTENSION_ID } = await import("../../resources/devices/on-premises-extension.ts");
  try {
    const { endpointId } = await api.get<{ endpointId: string }>("/link");
    const path = `/extensions/${ONPREM_EXTENSION_ID}/endpoints/${endpointId}`;
    const zone = (await api.get<{ clock?: { timeZone: string } | null }>(path)).clock?.timeZone;
    return isTimeZone(zone) ? zone : "UTC";
  } catch (error) {
    if (error instanceof CallerError && error.type === "forbidden") return "UTC";
    throw error;
  }
}
