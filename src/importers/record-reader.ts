import type { Clock } from "../lib/clock.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { MalformedTableError, readDelimitedRows } from "./delimited-file.ts";
import { detectTableFormat, type GivenFormat, type OpenTable, type TableFormat } from "./table-format.ts";

/** Compares names and keys: Unicode NFKC without case and outer blanks. @source Unicode Standard Annex #15 */
export function foldName(text: string): string {
  return text.normalize("NFKC").trim().toLowerCase().normalize("NFKC");
}

/** A line after the header. */
export interface TableRecord {
  line: number;
  /** The trimmed cell of a column, "" if there is none; column names are compared by `foldName`. */
  cell(column: string): string;
  /** Why the line is malformed; `column` is the name of the first malformed cell's column. */
  fault: { column: string | null; message: string } | null;
  /** Cells of the line and of the header. */
  width: number;
  headWidth: number;
}

/** A table that is being read. */
export interface RecordTable {
  format: TableFormat;
  /** Column names of the header. */
  head: readonly string[];
  /** Number of the header's line. */
  headLine: number;
  records: AsyncIterable<TableRecord>;
}

export interface RecordReaderOptions {
  /** For error messages. */
  file: string;
  format: GivenFormat;
  fallback: TableFormat["delimiter"];
  /** Columns that the header must have. */
  required: readonly string[];
  clock: Pick<Clock, "defer">;
}

/** Reads the header of a table; its records follow. Throws MalformedTableError for a header that lacks a column. */
export async function readRecordTable(open: OpenTable, options: RecordReaderOptions): Promise<RecordTable> {
  const table = await readHeader(open, options).catch((error: unknown) => throwIn(options.file, error));
  async function* records(): AsyncGenerator<TableRecord> {
    try {
      yield* table.records;
    } catch (error) {
      throwIn(options.file, error);
    }
  }
  return { ...table, records: records() };
}

/** Names the file of a malformed table. */
function throwIn(file: string, error: unknown): never {
  if (!(error instanceof MalformedTableError)) throw error;
  throw new MalformedTableError(
    error.line,
    sentence("upload.file-line-line-reason", { file, line: error.line, reason: error.message }),
  );
}

async function readHeader(open: OpenTable, options: RecordReaderOptions): Promise<RecordTable> {
  const { clock, required } = options;
  const format = await detectTableFormat(open, options.format, options.fallback, clock);
  const lines = readDelimitedRows(await open(), format, clock);
  const first = await lines.next();
  if (first.done) throw new MalformedTableError(1, sentence("upload.the-file-is-empty-its-first-line-must-name-the"));
  const { line, cells, fault } = first.value;
  if (fault !== null) throw new MalformedTableError(line, fault.message);
  const head = cells.map((name) => name.trim());
  const columns = new Map<string, number>();
  // Of two columns with one name the first counts.
  for (const [at, name] of head.entries()) if (!columns.has(foldName(name))) columns.set(foldName(name), at);
  const missing = required.filter((name) => !columns.has(foldName(name)));
  if (missing.length > 0) {
    const found = sentence("upload.the-delimiter-separated-header-has-columns", {
      delimiter: format.delimiter,
      columns: shortened(head.join(", ")),
    });
    throw new MalformedTableError(
      line,
      sentence("upload.missing-column-columns-found", { columns: missing.join(", "), found }),
    );
  }
  const columnOf = (name: string): number => {
    const known = columns.get(name) ?? columns.get(foldName(name)) ?? -1;
    columns.set(name, known);
    return known;
  };
  async function* records(): AsyncGenerator<TableRecord> {
    for await (const each of lines) {
      const at = each.fault?.column ?? null;
      yield {
        line: each.line,
        cell: (column) => (each.cells[columnOf(column)] ?? "").trim(),
        fault: each.fault && { message: each.fault.message, column: at === null ? null : (head[at] ?? null) },
        width: each.cells.length,
        headWidth: head.length,
      };
    }
  }
  return { format, head, headLine: line, records: records() };
}

function shortened(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}
