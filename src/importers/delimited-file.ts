import { parse } from "csv-parse/sync";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { DELIMITERS, ENCODINGS, QUOTES, separatorLine, type TableFormat } from "./table-format.ts";

/** A line of a table: its line number in the file and its cells. */
export interface TableLine {
  line: number;
  /** Of a malformed line: the cells as far as they can be told. */
  cells: readonly string[];
  /** Bytes read up to the end of the line, approximately. */
  bytes: number;
  /** Why the line is malformed, and the index of its first malformed cell if that is known; null for a good line. */
  fault: { column: number | null; message: string } | null;
}

/** A table that cannot be read, such as one without a usable header. */
export class MalformedTableError extends CallerError {
  readonly line: number;

  constructor(line: number, message: string) {
    super("invalid-value", message);
    this.line = line;
  }
}

/** Longest record and line, in characters; lines of one record, and records whose end is looked for in vain. */
const MAX_RECORD_LENGTH = 1_048_576;
const MAX_RECORD_LINES = 1_000;
const MAX_OPEN_QUOTES = 100;
/** Characters parsed per turn of the event loop: 1 to 4 ms. @source docs/decisions/0540-importers.md, Bulk uploads */
const PARSE_LENGTH = 4_096;

/**
 * Records of a table in order, header first; blank lines and a first line `sep=;` are skipped. A malformed line is reported
 * with a fault, and the lines after it are read: a quote that is never closed spoils its own line only. Throws
 * MalformedTableError for lines and quoted cells without an end.
 */
export async function* readDelimitedRows(
  bytes: AsyncIterable<Uint8Array>,
  format: TableFormat,
  clock: Pick<Clock, "defer">,
): AsyncGenerator<TableLine> {
  let batch: RawRecord[] = [];
  let length = 0;
  let width: number | null = null;
  const flush = async (): Promise<TableLine[]> => {
    const lines = parseRecords(batch, format, width);
    width ??= lines[0]?.cells.length ?? null;
    batch = [];
    length = 0;
    await yieldToEventLoop(clock);
    return lines;
  };
  for await (const records of splitRecords(splitLines(bytes, format), format)) {
    for (const record of records) {
      batch.push(record);
      length += record.text.length;
      // The header alone: the number of its cells is needed for the rest.
      if (length >= PARSE_LENGTH || width === null) yield* await flush();
    }
  }
  if (batch.length > 0) yield* await flush();
}

interface RawRecord {
  line: number;
  text: string;
  bytes: number;
  /** A quoted cell is not closed. */
  isOpen: boolean;
  /** Lines of the record. */
  height: number;
}

type RawLine = Pick<RawRecord, "line" | "text" | "bytes">;

async function* splitLines(bytes: AsyncIterable<Uint8Array>, { encoding }: TableFormat): AsyncGenerator<RawLine[]> {
  const decoder = new TextDecoder(ENCODINGS[encoding]);
  let rest = "";
  let line = 0;
  let read = 0;
  const split = (isEnd: boolean): RawLine[] => {
    // A CR at the end may be the first half of a CRLF.
    const isHalf = !isEnd && rest.endsWith("\r");
    const lines = (isHalf ? rest.slice(0, -1) : rest).split(/\r\n|\n|\r/);
    rest = isEnd ? "" : `${lines.pop() ?? ""}${isHalf ? "\r" : ""}`;
    return lines.map((text) => {
      assertLength(text);
      return { line: ++line, text, bytes: read };
    });
  };
  const assertLength = (text: string): void => {
    if (text.length > MAX_RECORD_LENGTH) {
      throw new MalformedTableError(
        line + 1,
        sentence("upload.the-line-has-more-than-limit-characters", { limit: MAX_RECORD_LENGTH }),
      );
    }
  };
  for await (const piece of bytes) {
    read += piece.length;
    rest += decoder.decode(piece, { stream: true });
    if (/[\r\n]/.test(rest)) yield split(false);
    assertLength(rest);
  }
  rest += decoder.decode();
  yield split(true);
}

/** Joins the lines of quoted cells. A record that finds no end is cut after its first line, which is malformed. */
async function* splitRecords(source: AsyncIterable<RawLine[]>, format: TableFormat): AsyncGenerator<RawRecord[]> {
  const quote = QUOTES[format.quote];
  const delimiter = DELIMITERS[format.delimiter];
  let open: { lines: RawLine[]; length: number; isQuoted: boolean } = { lines: [], length: 0, isQuoted: false };
  let cut = 0;

  function* add(line: RawLine): Generator<RawRecord> {
    open.lines.push(line);
    open.length += line.text.length + 1;
    open.isQuoted = quote !== null && endsQuoted(line.text, delimiter, quote, open.isQuoted);
    if (!open.isQuoted) {
      const [first = line] = open.lines;
      const text = open.lines.length === 1 ? line.text : open.lines.map((each) => each.text).join("\n");
      const height = open.lines.length;
      open = { lines: [], length: 0, isQuoted: false };
      if (text.trim() !== "" && !(first.line === 1 && separatorLine(text) !== null))
        yield { line: first.line, text, bytes: line.bytes, isOpen: false, height };
    } else if (open.length > MAX_RECORD_LENGTH || open.lines.length > MAX_RECORD_LINES) yield* cutOpen();
  }

  function* cutOpen(): Generator<RawRecord> {
    const [first, ...others] = open.lines;
    open = { lines: [], length: 0, isQuoted: false };
    if (!first) return;
    if (++cut > MAX_OPEN_QUOTES) {
      throw new MalformedTableError(
        first.line,
        sentence("upload.limit-quoted-cells-are-not-closed-check-the-quotes-or", { limit: MAX_OPEN_QUOTES }),
      );
    }
    yield { ...first, isOpen: true, height: 1 };
    for (const line of others) yield* add(line);
  }

  for await (const lines of source) {
    let records: RawRecord[] = [];
    for (const line of lines) {
      const before = cut;
      for (const record of add(line)) records.push(record);
      // The search for the end of a cell takes milliseconds.
      if (cut === before) continue;
      yield records;
      records = [];
    }
    yield records;
  }
  while (open.lines.length > 0) yield [...cutOpen()];
}

/** Whether a line ends inside a quoted cell. */
function endsQuoted(text: string, delimiter: string, quote: string, startsQuoted: boolean): boolean {
  if (!startsQuoted && !text.includes(quote)) return false;
  let isQuoted = startsQuoted;
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== quote) continue;
    if (!isQuoted) isQuoted = at === 0 || text[at - 1] === delimiter;
    else if (text[at + 1] === quote) at++;
    else isQuoted = false;
  }
  return isQuoted;
}

/** Parses records together, and one by one if that fails. */
function parseRecords(records: readonly RawRecord[], format: TableFormat, width: number | null): TableLine[] {
  const isSimple = ({ isOpen, height, text }: RawRecord): boolean =>
    !isOpen && height === 1 && !(format.encoding === "utf-8" && text.includes("\ufffd"));
  if (records.every(isSimple)) {
    try {
      const rows = parseText(records.map(({ text }) => text).join("\n"), format, false);
      if (rows.length === records.length) {
        return records.map(({ line, bytes }, at) => ({ line, bytes, cells: rows[at] ?? [], fault: null }));
      }
    } catch (error) {
      if (malformedMessage(error) === null) throw error;
    }
  }
  return records.flatMap((record) => parseRecord(record, format, width));
}

function parseRecord(record: RawRecord, format: TableFormat, width: number | null): TableLine[] {
  const { line, bytes, text, isOpen, height } = record;
  const malformed = (column: number | null, message: string): TableLine => {
    const [cells = []] = parseText(text, { ...format, quote: "none" }, true);
    const quote = QUOTES[format.quote];
    const bare = cells.map((cell) => (quote !== null && cell.startsWith(quote) ? cell.replaceAll(quote, "") : cell));
    return { line, bytes, cells: bare, fault: { column, message } };
  };
  if (format.encoding === "utf-8" && text.includes("\ufffd")) {
    return [malformed(null, sentence("upload.the-line-has-bytes-that-are-not-utf-8-choose"))];
  }
  if (isOpen) return [malformed(null, PARSE_ERROR_MESSAGES.CSV_QUOTE_NOT_CLOSED as string)];
  try {
    const [cells = []] = parseText(text, format, false);
    const isWhole = height === 1 || width === null || cells.length === width || !holdsRecords(text, format, width);
    if (isWhole) return [{ line, bytes, cells, fault: null }];
  } catch (error) {
    const message = malformedMessage(error);
    if (message === null) throw error;
    if (height === 1) return [malformed(columnOf(error), message)];
  }
  // Two quotes that belong to different lines seem to enclose a cell of several lines.
  return text.split("\n").flatMap((each, at) => {
    const quote = QUOTES[format.quote];
    const isUnclosed = quote !== null && endsQuoted(each, DELIMITERS[format.delimiter], quote, false);
    const alone = { line: line + at, text: each, bytes, isOpen: isUnclosed, height: 1 };
    return each.trim() === "" ? [] : parseRecord(alone, format, width);
  });
}

/** Whether a line inside the record is a whole record. */
function holdsRecords(text: string, format: TableFormat, width: number): boolean {
  const [, ...inner] = text.split("\n");
  try {
    return inner.some((each) => parseText(each, format, false)[0]?.length === width && width > 1);
  } catch (error) {
    if (malformedMessage(error) === null) throw error;
    return false;
  }
}

function parseText(text: string, { delimiter, quote }: TableFormat, relaxed: boolean): string[][] {
  return parse(text, {
    delimiter: DELIMITERS[delimiter],
    quote: QUOTES[quote],
    escape: QUOTES[quote],
    record_delimiter: "\n",
    relax_column_count: true,
    relax_quotes: relaxed || delimiter === "tab",
  }) as string[][];
}

function columnOf(error: unknown): number | null {
  const { column } = error as { column?: unknown };
  return typeof column === "number" ? column : null;
}

/** The message for an error of the parser; null for any other error. */
function malformedMessage(error: unknown): string | null {
  const { code } = error as { code?: unknown };
  if (typeof code !== "string" || !/^(CSV_|INVALID_)/.test(code)) return null;
  return PARSE_ERROR_MESSAGES[code] ?? sentence("upload.the-line-is-malformed");
}

/** By code of csv-parse; one of them has no prefix. */
const PARSE_ERROR_MESSAGES: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: sentence("upload.a-quoted-cell-is-not-closed"),
  CSV_MAX_RECORD_SIZE: sentence("upload.a-line-has-more-than-limit-characters-check-for-an", {
    limit: MAX_RECORD_LENGTH,
  }),
  CSV_INVALID_CLOSING_QUOTE: sentence("upload.a-quoted-cell-must-end-at-its-closing-quote"),
  INVALID_OPENING_QUOTE: sentence("upload.a-cell-that-contains-a-quote-must-be-quoted-with"),
  CSV_INVALID_OPENING_QUOTE: sentence("upload.a-cell-that-contains-a-quote-must-be-quoted-with"),
};
