import { Readable } from "node:stream";
import { parentPort } from "node:worker_threads";
import { systemClock } from "../lib/clock.ts";
import { BugError, CallerError } from "../lib/errors.ts";
import { releaseMemory } from "../lib/release-memory.ts";
import { createTimeZones } from "../time-zones/time-zones.ts";
import { openZoneData } from "../time-zones/zone-data.ts";
import { MAX_MESSAGES_KEPT, PROGRESS_LINES } from "./load-limits.ts";
import { LoadAborted, type SourceContent, type SourceContext, type SourceMessage } from "./load-source.ts";
import { localDays } from "./local-days.ts";
import { readRosterSource } from "./roster-source.ts";
import type { StoredRosterRecord } from "./roster-state.ts";
import type { SourceFiles } from "./source-entries.ts";
import { openSourceFiles } from "./source-files.ts";
import type { SourceAnswer, SourceFindings, SourceParts, SourceQuestion, SourceRequest } from "./source-messages.ts";
import { readTableSource } from "./table-source.ts";

/** Entry of the worker thread that reads the source of one load. @source docs/decisions/0544-reading-in-workers.md */
const port = parentPort;
if (!port) throw new BugError("source-worker is the entry of a thread");

/** Items handed over together: about 1 ms for the receiver. */
const SLICE_ITEMS = 250;

const say = (answer: SourceAnswer): void => port.postMessage(answer);
let parts: { [part in keyof SourceParts]: readonly SourceParts[part][] } | null = null;
let takeRecords: (rows: readonly StoredRosterRecord[]) => void = () => undefined;

port.on("message", (question: SourceQuestion) => {
  if (question.kind === "start") void read(question);
  else if (question.kind === "records") takeRecords(question.rows);
  else if (question.kind === "release") {
    parts = null;
    releaseMemory();
    say({ kind: "released" });
  } else {
    const items = parts?.[question.part].slice(question.from, question.from + SLICE_ITEMS) ?? [];
    say({ kind: "slice", items });
  }
});

async function read(request: SourceRequest): Promise<void> {
  const findings: SourceFindings = { linesRead: 0, linesWithErrors: 0, errors: [], warnings: [], files: [] };
  try {
    const content = await readContent(request, createContext(findings));
    parts = partsOf(content);
    say({ kind: "read", people: content.people.length, namesAllLists: content.namesAllLists, findings });
  } catch (error) {
    const isExpected = error instanceof CallerError || typeof (error as { syscall?: unknown }).syscall === "string";
    const { message, stack } = error as Error;
    const state = error instanceof LoadAborted ? error.state : "failed";
    say({ kind: "failed", state, message: isExpected ? message : String(stack), isBug: !isExpected, findings });
  }
}

function createContext(findings: SourceFindings): SourceContext {
  const keep = (messages: SourceMessage[], message: SourceMessage): void => {
    if (messages.length < MAX_MESSAGES_KEPT) messages.push(message);
  };
  return {
    clock: systemClock,
    signal: new AbortController().signal,
    error(message) {
      if (message.line > 0) findings.linesWithErrors++;
      keep(findings.errors, message);
    },
    warn: (message) => keep(findings.warnings, message),
    fileRead: (file) => void findings.files.push(file),
    lineRead() {
      if (++findings.linesRead % PROGRESS_LINES === 0) say({ kind: "lines", linesRead: findings.linesRead });
      return null;
    },
  };
}

async function readContent(request: SourceRequest, context: SourceContext): Promise<SourceContent> {
  const { definition, source } = request;
  if (definition.type === "table") {
    if (!("path" in source)) throw new BugError("A table is read from a file.");
    return readTableSource(definition, source.path, context);
  }
  const files = "path" in source ? await openSourceFiles(source.path) : tablesAsFiles(source.tables);
  const zones = createTimeZones(openZoneData(request.zoneFolders));
  return readRosterSource(definition, files, context, {
    ...{ isConfirmed: request.isConfirmed, hasFormerLists: request.hasFormerLists, changes: request.changes },
    days: localDays(zones.of(request.timeZone), request.now),
    records: { fileStates: request.fileStates, page: requestRecords },
  });
}

/** Records of the last load, from the database of the main thread. */
function requestRecords(file: string, after: string): Promise<readonly StoredRosterRecord[]> {
  return new Promise((resolve) => {
    takeRecords = resolve;
    say({ kind: "records", file, after });
  });
}

function tablesAsFiles(tables: ReadonlyMap<string, Uint8Array>): SourceFiles {
  return {
    async open(name) {
      const table = tables.get(name);
      return table ? Readable.from([Buffer.from(table)]) : null;
    },
    has: (name) => tables.has(name),
    close: () => undefined,
  };
}

function partsOf({ people, lists, keptPeople, changes }: SourceContent): NonNullable<typeof parts> {
  const used = new Set<string>();
  for (const { memberships } of people) for (const key of memberships.keys()) used.add(key);
  return {
    // Of people who share an address the first gets it as log-in.
    people: [...people.filter((each) => !each.isStudent), ...people.filter((each) => each.isStudent)],
    lists: [...lists.values()].map((list) => ({ ...list, isUsed: used.has(list.key) })),
    keptPeople: [...keptPeople],
    changes,
  };
}
