import type { Clock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { SourceContext } from "./load-source.ts";
import { foldName, readRecordTable, type TableRecord } from "./record-reader.ts";
import type { SourceFiles } from "./source-entries.ts";
import type { GivenFormat } from "./table-format.ts";

/** Used cells of a roster record by column; empty ones are left out. */
export type RosterRecord = Readonly<Record<string, string>>;

interface RosterFile {
  /** Columns that the header must have. */
  head: readonly string[];
  /** Cells that must not be empty. */
  required: readonly string[];
  columns: readonly string[];
  dates: readonly string[];
}

/**
 * The files that a load reads, without `.csv`. Version 1.2 has the organisations of a user in `roles`.
 * @source 1EdTech OneRoster 1.1 CSV Tables; 1EdTech OneRoster 1.2 CSV Binding
 */
export const ROSTER_FILES: Readonly<Record<string, RosterFile>> = {
  academicSessions: {
    head: ["sourcedId"],
    required: ["sourcedId"],
    columns: ["title", "startDate", "endDate"],
    dates: ["startDate", "endDate"],
  },
  orgs: { head: ["sourcedId", "name"], required: ["sourcedId"], columns: ["name"], dates: [] },
  classes: {
    head: ["sourcedId", "title"],
    required: ["sourcedId"],
    columns: ["title", "classCode", "schoolSourcedId", "termSourcedIds"],
    dates: [],
  },
  enrollments: {
    head: ["classSourcedId", "userSourcedId"],
    required: ["classSourcedId", "userSourcedId"],
    columns: ["classSourcedId", "userSourcedId", "beginDate", "endDate"],
    dates: ["beginDate", "endDate"],
  },
  roles: {
    head: ["userSourcedId", "orgSourcedId"],
    required: ["userSourcedId", "orgSourcedId"],
    columns: ["userSourcedId", "orgSourcedId", "role", "beginDate", "endDate"],
    dates: ["beginDate", "endDate"],
  },
  users: {
    head: ["sourcedId", "givenName", "familyName"],
    required: ["sourcedId"],
    columns: [
      ...["givenName", "familyName", "preferredGivenName", "preferredFamilyName", "username"],
      ...["email", "sms", "phone", "role", "orgSourcedIds", "primaryOrgSourcedId"],
    ],
    dates: [],
  },
};

/** `missing`: neither there nor announced by the manifest. */
export type RosterFileMode = "bulk" | "delta" | "absent" | "missing";

/** Contents of one file. */
export interface RosterFileContent {
  /** Records by sourced id; null for one that was removed. */
  records: Map<string, { line: number; record: RosterRecord } | null>;
  /** Sourced ids of lines with errors. */
  faulty: Map<string, number>;
}

/** What the manifest says; without one, files that are there are bulk files. */
export interface RosterManifest {
  modeOf(file: string): RosterFileMode;
}

/** Reads `manifest.csv`. Throws CallerError for an unknown mode and for an announced file that is not there. */
export async function readRosterManifest(
  source: SourceFiles,
  format: GivenFormat,
  context: SourceContext,
): Promise<RosterManifest> {
  const modes = new Map<string, string>();
  const name = "manifest.csv";
  if (source.has(name)) {
    const head = ["propertyName", "value"];
    const options = { file: name, format, fallback: "comma" as const, required: head, clock: context.clock };
    const table = await readRecordTable(async () => openFile(source, name), options);
    for await (const { cell } of table.records) modes.set(foldName(cell("propertyName")), foldName(cell("value")));
  }
  return {
    modeOf(file) {
      const isThere = source.has(`${file}.csv`);
      const mode = modes.get(foldName(`file.${file}`)) ?? (isThere ? "bulk" : "missing");
      if (mode === "absent") {
        const message = sentence("upload.file-csv-is-ignored-manifest-csv-says-that-it-is", { file });
        if (isThere) context.warn({ file: name, line: 0, column: null, message });
        return "absent";
      }
      if (mode === "missing") return mode;
      if (mode !== "bulk" && mode !== "delta") {
        throw new CallerError(
          "invalid-value",
          sentence("upload.manifest-csv-file-file-must-be-bulk-delta-or-absent", { file }),
        );
      }
      if (!isThere) {
        throw new CallerError(
          "invalid-value",
          sentence("upload.manifest-csv-announces-file-csv-mode-which-is-not-there", { file, mode }),
        );
      }
      return mode;
    },
  };
}

async function openFile(source: SourceFiles, name: string): Promise<AsyncIterable<Uint8Array>> {
  const bytes = await source.open(name);
  if (!bytes) throw new CallerError("not-found", sentence("upload.name-was-not-found-in-the-source", { name }));
  return bytes;
}

/** Reads one file. Lines with errors are reported and left out. */
export async function readRosterFile(
  source: SourceFiles,
  file: string,
  mode: "bulk" | "delta",
  format: GivenFormat,
  context: SourceContext & { clock: Pick<Clock, "defer"> },
): Promise<RosterFileContent> {
  const { head, columns, dates, required } = ROSTER_FILES[file] as RosterFile;
  const name = `${file}.csv`;
  const options = { file: name, format, fallback: "comma" as const, required: head, clock: context.clock };
  const table = await readRecordTable(async () => openFile(source, name), options);
  const read = { ...table.format, file: name, mode, columns: table.head, lines: 0 };
  context.fileRead(read);
  const content: RosterFileContent = { records: new Map(), faulty: new Map() };
  const lineOf = new Map<string, number>();
  for await (const each of table.records) {
    context.signal.throwIfAborted();
    const reported = context.lineRead();
    if (reported !== null) await reported;
    read.lines++;
    const id = recordId(file, each.cell);
    const wrong = (column: string | null, message: string): void => {
      context.error({ file: name, line: each.line, column, message });
      if (id !== "" && !content.records.has(id)) content.faulty.set(id, each.line);
    };
    const fault = each.fault ?? faultOf(file, id, required, dates, each, lineOf.get(id), mode);
    if (fault !== null) {
      wrong(fault.column, fault.message);
      continue;
    }
    lineOf.set(id, each.line);
    content.faulty.delete(id);
    const cells = columns.flatMap((column): [string, string][] => {
      const text = dates.includes(column) ? (parseRosterDate(each.cell(column)) ?? "") : each.cell(column);
      return text === "" ? [] : [[column, text.normalize("NFC")]];
    });
    // Only a delta has dates of changes; a bulk file is the newest state by itself.
    const modified = mode === "delta" ? each.cell("dateLastModified") : "";
    if (modified !== "") cells.push(["dateLastModified", modified]);
    const isGone = isRemoved(each.cell) || each.cell("enabledUser").toLowerCase() === "false";
    content.records.set(id, isGone ? null : { line: each.line, record: Object.fromEntries(cells) });
  }
  return content;
}

/** Some exports leave out the sourced id of enrolments and roles. */
function recordId(file: string, cell: TableRecord["cell"]): string {
  const id = cell("sourcedId");
  if (id !== "") return id;
  const parts =
    file === "enrollments" ? ["classSourcedId", "userSourcedId", "role"] : ["userSourcedId", "orgSourcedId", "role"];
  if (file !== "enrollments" && file !== "roles") return "";
  return parts.map(cell).join(" ").trim();
}

const STATUSES = ["", "active", "tobedeleted", "inactive"];

function isRemoved(cell: TableRecord["cell"]): boolean {
  const status = cell("status").toLowerCase();
  return status === "tobedeleted" || status === "inactive";
}

function faultOf(
  file: string,
  id: string,
  required: readonly string[],
  dates: readonly string[],
  { cell }: TableRecord,
  earlierLine: number | undefined,
  mode: "bulk" | "delta",
): { column: string; message: string } | null {
  if (id === "") return { column: "sourcedId", message: sentence("upload.the-sourcedid-must-not-be-empty") };
  // A delta may have several changes of one record, in order.
  if (earlierLine !== undefined && mode === "bulk") {
    return {
      column: "sourcedId",
      message: sentence("upload.duplicate-sourcedid-id-as-in-line-line", { id: id.slice(0, 80), line: earlierLine }),
    };
  }
  if (!STATUSES.includes(cell("status").toLowerCase())) {
    return { column: "status", message: sentence("upload.the-status-must-be-active-or-tobedeleted") };
  }
  if (isRemoved(cell)) return null;
  const empty = required.find((column) => column !== "sourcedId" && cell(column) === "");
  if (empty !== undefined)
    return { column: empty, message: sentence("upload.the-column-must-not-be-empty", { column: empty }) };
  if (file === "users" && !["givenName", "familyName", "username"].some((column) => cell(column) !== "")) {
    return { column: "familyName", message: sentence("upload.the-person-must-have-a-name") };
  }
  const date = dates.find((column) => cell(column) !== "" && parseRosterDate(cell(column)) === null);
  if (date !== undefined) {
    return { column: date, message: sentence("upload.the-column-must-be-a-date-such-as-2026-08", { column: date }) };
  }
  const [begin, end] = dates.map((column) => parseRosterDate(cell(column)));
  if (begin && end && end < begin) {
    return {
      column: dates[1] as string,
      message: sentence("upload.the-column-must-not-be-before-the-other", {
        column: dates[1] ?? "",
        other: dates[0] ?? "",
      }),
    };
  }
  return null;
}

/** The `YYYY-MM-DD` of a cell: ISO 8601 with or without a time, 20260831 or 31.08.2026; null for anything else. */
export function parseRosterDate(text: string): string | null {
  const [, isoYear, isoMonth, isoDay] =
    /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ].*)?$/.exec(text) ?? /^(\d{4})(\d{2})(\d{2})$/.exec(text) ?? [];
  const [, day, month, year] = /^(\d{1,2})\.(\d{1,2})\.(\d{4})$/.exec(text) ?? [];
  const parts = [isoYear ?? year, isoMonth ?? month, isoDay ?? day];
  if (parts.some((part) => part === undefined)) return null;
  const date = parts.map((part) => (part as string).padStart(2, "0")).join("-");
  const at = Date.parse(`${date}T00:00:00Z`);
  return Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== date ? null : date;
}
