import type { Command } from "commander";
import { invalidValue } from "../../base/errors.ts";
import type { Timetable } from "../../bells/timetables.ts";
import type { BellScheduleEntry, BellScheduleException, RingListEntry } from "../../resources/bells/bell-parts.ts";
import { type ApiClient, createApiClient, listAll } from "../api-client.ts";
import type { Terminal } from "../terminal.ts";

/** Where a command finds the appliance whose bells it is about. */
export interface ApplianceOptions {
  url: string;
  token?: string;
}

/** Adds the options that name an appliance. */
export function withAppliance(command: Command, terminal: Terminal): Command {
  return command
    .option("--url <url>", "the appliance", terminal.env.CARILLON_URL ?? "http://127.0.0.1:8080")
    .option("--token <token>", "token to ask it with; or give CARILLON_TOKEN in the environment");
}

/** A client for the appliance that the options name. Throws CallerError without a token. */
export function applianceOf({ url, token }: ApplianceOptions, terminal: Terminal): ApiClient {
  const known = token ?? terminal.env.CARILLON_TOKEN;
  if (!known) throw invalidValue("token", "Add --token or CARILLON_TOKEN.");
  return createApiClient(url, known);
}

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
