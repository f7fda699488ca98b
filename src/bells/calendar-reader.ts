import { Worker } from "node:worker_threads";
import type { Clock } from "../lib/clock.ts";
import { BugError, UpstreamError, validationError } from "../lib/errors.ts";
import { createIdleWorker } from "../lib/idle-worker.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { workerEntry } from "../lib/worker-entry.ts";
import type { ZoneDataOptions } from "../time-zones/zone-data.ts";
import type { CalendarRequest, CalendarResponse } from "./calendar-reader-messages.ts";
import type { DateSpan } from "./date-span.ts";
import { calendarError, type ParsedHolidays } from "./holidays.ts";

/** Reads calendars in a worker thread: a file of others never takes time of the thread that rings. */
export interface CalendarReader {
  /**
   * As `parseHolidays`. Throws CallerError (`calendar`) also for a calendar that takes longer than the time limit,
   * TooManyRequestsError if too many wait.
   */
  read(text: string, span: DateSpan, timeZone: string): Promise<ParsedHolidays>;
  /** Ends the thread; pending requests reject. */
  close(): Promise<void>;
}

export interface CalendarReaderDeps {
  clock: Clock;
  zoneFolders: ZoneDataOptions;
  /** `revision` changes with the time zone data. */
  zoneData: { readonly revision: number };
  /** Replaces the thread in tests. */
  spawn?: () => Worker;
}

/** @source docs/decisions/0544-reading-in-workers.md */
const REQUEST_TIMEOUT_MS = 20_000;
const IDLE_TIMEOUT_MS = 60_000;
const MEMORY_MB = 128;
const MAX_QUEUED = 50;

export function createCalendarReader({
  clock,
  zoneFolders,
  zoneData,
  spawn = spawnWorker,
}: CalendarReaderDeps): CalendarReader {
  const worker = createIdleWorker<CalendarRequest, CalendarResponse>({
    ...{ clock, spawn, requestTimeoutMs: REQUEST_TIMEOUT_MS, idleTimeoutMs: IDLE_TIMEOUT_MS, maxQueued: MAX_QUEUED },
    endedError: (isClosed) =>
      isClosed
        ? new UpstreamError("upstream", sentence("login.the-appliance-is-shutting-down"))
        : calendarError(sentence("calendar.too-much", { seconds: REQUEST_TIMEOUT_MS / 1_000 })),
  });
  return {
    async read(text, { startDate, endDate }, timeZone) {
      const { revision } = zoneData;
      const span = { startDate, endDate };
      const response = await worker.request({ text, span, timeZone, zoneFolders, revision });
      if ("parsed" in response) return response.parsed;
      if ("invalid" in response)
        throw validationError([{ field: "calendar", type: "invalid-value", message: response.invalid }]);
      throw new BugError("Failed to read a calendar.", { stack: response.bug });
    },
    close: worker.close,
  };
}

/** Unread output would accumulate. */
function spawnWorker(): Worker {
  const thread = new Worker(workerEntry(import.meta.url, "./calendar-reader-worker"), {
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
    name: "calendars",
    stdout: true,
    stderr: true,
  });
  thread.stdout.resume();
  thread.stderr.resume();
  return thread;
}
