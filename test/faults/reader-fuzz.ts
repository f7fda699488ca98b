import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseAlert } from "../../plugins/cap-in/alert.ts";
import { decodeDocument } from "../../plugins/cap-in/encoding.ts";
import { decodeCalendar } from "../../src/bells/calendar-encoding.ts";
import { createCalendarReader } from "../../src/bells/calendar-reader.ts";
import { readSourceInThread } from "../../src/importers/source-thread.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { BugError } from "../../src/lib/errors.ts";
import { MACHINE_FOLDER } from "../../src/time-zones/zone-data.ts";
import type { CorpusFile } from "./calendars.ts";

/** What reading many damaged files came to. */
export interface ReaderFuzz {
  files: number;
  read: number;
  refused: number;
  /** Files that took longer than the time limit of their reader. */
  hangs: string[];
  /** Errors that no reader throws on purpose. */
  bugs: string[];
  slowest: { name: string; ms: number };
}

const SPAN = { startDate: "2026-08-01", endDate: "2027-07-31" };
const ZONE_FOLDERS = { folder: MACHINE_FOLDER, installedFolder: null };
/** What a mistake in a program throws. */
const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError, BugError];
const PROGRESS_FILES = 5_000;

/** Reads files as the daemon does, in its worker threads, but without the API and the database: about 1 ms for a calendar. */
export async function fuzzReaders(
  files: Iterable<CorpusFile>,
  folder: string,
  say: (progress: string) => void,
): Promise<ReaderFuzz> {
  const calendars = createCalendarReader({
    ...{ clock: systemClock, zoneFolders: ZONE_FOLDERS, zoneData: { revision: 0 } },
  });
  const readers: Record<CorpusFile["kind"], (file: CorpusFile) => Promise<unknown>> = {
    calendar: ({ bytes }) => calendars.read(decodeCalendar(bytes), SPAN, "Europe/Berlin"),
    alert: async ({ bytes }) => parseAlert(decodeDocument(bytes), "en"),
    table: (file) => readLoad(file, join(folder, "people.csv")),
    roster: (file) => readLoad(file, join(folder, "roster.zip")),
  };
  const run: ReaderFuzz = { files: 0, read: 0, refused: 0, hangs: [], bugs: [], slowest: { name: "", ms: 0 } };
  for (const file of files) {
    const began = performance.now();
    try {
      await readers[file.kind](file);
      run.read++;
    } catch (error) {
      const { message, stack } = error as Error;
      if (MISTAKES.some((each) => error instanceof each)) run.bugs.push(`${file.name}: ${stack}`);
      else if (/took more than|no progress/.test(message)) run.hangs.push(file.name);
      else run.refused++;
    }
    const ms = Math.round(performance.now() - began);
    if (ms > run.slowest.ms) run.slowest = { name: file.name, ms };
    if (++run.files % PROGRESS_FILES === 0) say(`${run.files} files, slowest ${run.slowest.ms} ms`);
  }
  await calendars.close();
  return run;
}

async function readLoad({ kind, bytes }: CorpusFile, path: string): Promise<void> {
  await writeFile(path, bytes);
  const source = await readSourceInThread(
    {
      kind: "start",
      definition: {
        ...{ type: kind === "roster" ? "oneroster" : "table", path, fileName: null, mapping: null },
        ...{ delimiter: null, encoding: null, quote: null },
      },
      ...{ source: { path }, isConfirmed: false, hasFormerLists: false, changes: [], fileStates: new Map() },
      ...{ now: Date.UTC(2026, 8, 1), timeZone: "Europe/Berlin", zoneFolders: ZONE_FOLDERS },
    },
    {
      ...{ clock: systemClock, signal: new AbortController().signal, records: () => [] },
      ...{ onLines: () => undefined, onFindings: () => undefined },
    },
  );
  await source.close();
}
