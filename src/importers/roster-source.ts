import { yieldToEventLoop } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { LoadAborted, type RecordChange, type SourceContent, type SourceContext } from "./load-source.ts";
import { ROSTER_FILES, readRosterFile, readRosterManifest } from "./roster-files.ts";
import { type LocalDays, resolveRoster } from "./roster-people.ts";
import {
  changeRecords,
  type KnownRecords,
  keepRecords,
  MANIFEST,
  type RosterRecords,
  replaceRecords,
} from "./roster-state.ts";
import type { SourceFiles } from "./source-entries.ts";
import type { SourceDefinition } from "./source-messages.ts";

export interface RosterOptions {
  /** Records of the last load. */
  records: KnownRecords;
  days: LocalDays;
  /** A file that was there at the last load may be missing. */
  isConfirmed: boolean;
  /** There are lists whose keys are those of an earlier release. */
  hasFormerLists: boolean;
  /** Further records to store with the load. */
  changes?: readonly RecordChange[];
}

/** Changes copied per turn of the event loop: about 1 ms. */
const COPIED_CHANGES = 20_000;
/** How the records of a service are written. */
const SERVICE_FORMAT = { delimiter: "comma", encoding: "utf-8", quote: "double" } as const;

/** Files that name lists and their members. */
const LIST_FILES = ["orgs", "classes", "enrollments"] as const;

/**
 * Reads the files of a OneRoster folder, archive or service, and closes them. Bulk files replace what is known, deltas change it, absent files leave it. Throws
 * LoadAborted if a file of the last load is missing, CallerError for a source that cannot be read.
 */
export async function readRosterSource(
  definition: SourceDefinition,
  source: SourceFiles,
  context: SourceContext,
  options: RosterOptions,
): Promise<SourceContent> {
  const { records, days } = options;
  const { clock } = context;
  const format =
    definition.type === "oneroster-api"
      ? SERVICE_FORMAT
      : { delimiter: definition.delimiter, encoding: definition.encoding, quote: definition.quote };
  try {
    const manifest = await readRosterManifest(source, format, context);
    const states = records.fileStates;
    const modes = Object.keys(ROSTER_FILES).map((file) => ({ file, mode: manifest.modeOf(file) }));
    const missing = modes.filter(({ file, mode }) => mode === "missing" && isExpected(file, states, options));
    if (missing.length > 0 && !options.isConfirmed) throw missingFiles(missing.map(({ file }) => `${file}.csv`));
    const changes: RecordChange[] = [...(options.changes ?? [])];
    const roster: Record<string, RosterRecords> = {};
    const keptPeople = new Set<string>();
    for (const { file, mode } of modes) {
      if (mode === "absent" || mode === "missing") {
        roster[file] = await keepRecords(records, file, clock);
        if (mode === "missing" && states.has(file)) changes.push({ file: MANIFEST, id: file, data: "kept" });
        continue;
      }
      if (mode === "delta" && !states.has(file)) {
        const reason = sentence("roster.file-csv-is-a-delta-but-there-was-no-complete", { file });
        throw new LoadAborted("failed", reason);
      }
      const content = await readRosterFile(source, file, mode, format, context);
      if (file === "users") for (const key of content.faulty.keys()) keptPeople.add(key);
      const read =
        mode === "bulk"
          ? { ...(await replaceRecords(records, file, content, clock)), outdated: 0 }
          : await changeRecords(records, file, content, clock);
      if (read.outdated > 0) {
        const message = sentence("roster.changes-changes-are-skipped-newer-ones-were-loaded-before", {
          count: read.outdated,
        });
        context.warn({ file: `${file}.csv`, line: 0, column: "dateLastModified", message });
      }
      roster[file] = read.records;
      for (const [at, change] of read.changes.entries()) {
        if (at % COPIED_CHANGES === COPIED_CHANGES - 1) await yieldToEventLoop(clock);
        changes.push(change);
      }
      if (states.get(file) !== "given") changes.push({ file: MANIFEST, id: file, data: "given" });
    }
    const isKnown = (file: string): boolean =>
      states.has(file) || modes.some((each) => each.file === file && (each.mode === "bulk" || each.mode === "delta"));
    if (!isKnown("users")) throw invalidValue("path", sentence("field.must-contain-a-file-users-csv"));
    const built = await resolveRoster(roster, days, context.warn, clock);
    const namesAllLists = !options.hasFormerLists || LIST_FILES.every(isKnown);
    return { ...built, keptPeople, namesAllLists, changes };
  } finally {
    source.close();
  }
}

function isExpected(file: string, states: ReadonlyMap<string, string>, { hasFormerLists }: RosterOptions): boolean {
  const isListFile = (LIST_FILES as readonly string[]).includes(file);
  return states.get(file) === "given" || (states.size === 0 && hasFormerLists && isListFile);
}

function missingFiles(names: readonly string[]): LoadAborted {
  const files = names.join(", ");
  const code = names.length === 1 ? "roster.file-is-missing" : "roster.files-are-missing";
  return new LoadAborted("stopped", sentence(code, { files }));
}
