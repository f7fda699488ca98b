import { getHeapStatistics } from "node:v8";
import { parentPort } from "node:worker_threads";
import { systemClock } from "../lib/clock.ts";
import { BugError, CallerError } from "../lib/errors.ts";
import { releaseMemory } from "../lib/release-memory.ts";
import { createTimeZones, type TimeZones } from "../time-zones/time-zones.ts";
import { openZoneData } from "../time-zones/zone-data.ts";
import type { CalendarRequest, CalendarResponse } from "./calendar-reader-messages.ts";
import { parseHolidays } from "./holidays.ts";

/** Entry of the worker thread that reads calendars. */
const port = parentPort;
if (!port) throw new BugError("calendar-reader-worker is the entry of a thread");

let opened: { revision: number; zones: TimeZones } | null = null;

/** Pages that the main thread can return to the system in a few milliseconds. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

port.on("message", (request: CalendarRequest) => {
  void read(request).then((response) => {
    port.postMessage(response);
    if (getHeapStatistics().total_heap_size > MAX_KEPT_BYTES) setImmediate(releaseMemory);
  });
});

async function read({ text, span, timeZone, zoneFolders, revision }: CalendarRequest): Promise<CalendarResponse> {
  try {
    if (opened?.revision !== revision) opened = { revision, zones: createTimeZones(openZoneData(zoneFolders)) };
    return { parsed: await parseHolidays(text, span, systemClock, { zones: opened.zones, timeZone }) };
  } catch (error) {
    if (error instanceof CallerError) return { invalid: error.message };
    return { bug: String((error as Error).stack) };
  }
}
