import { pipeline, Readable } from "node:stream";
import { parse } from "csv-parse";
import { CallerError } from "../lib/errors.ts";

/** A line of a table: its line number in the file and its cells. */
export interface TableLine {
  line: number;
  cells: readonly string[];
  /** Bytes read up to the end of the line, approximately. */
  bytes: number;
}

/** A malformed line; the rest of the file cannot be read. */
export class MalformedTableError extends CallerError {
  readonly line: number;

  constructor(line: number, message: string) {
    super("invalid-value", message);
    this.line = line;
  }
}

const MAX_LINE_BYTES = 1_048_576;
/** No read-ahead: buffered chunks would all be parsed in the same turn of the event loop. */
const NO_BUFFERING = { writableHighWaterMark: 1 };

/**
 * Lines of a table in order, header first; blank lines are skipped. `delimiter` is a tab or a comma; cells may be enclosed in
 * double quotes. Throws MalformedTableError for invalid UTF-8, an unclosed quote and overlong lines.
 */
export async function* readDelimitedRows(
  bytes: AsyncIterable<Uint8Array>,
  delimiter: "\t" | ",",
): AsyncGenerator<TableLine> {
  const parser = parse({
    delimiter,
    bom: true,
    info: true,
    relax_column_count: true,
    relax_quotes: delimiter === "\t",
    skip_empty_lines: true,
    max_record_size: MAX_LINE_BYTES,
    ...NO_BUFFERING,
  });
  let last = 0;
  const pieces = Readable.from(
    decodeText(bytes, () => last + 1),
    { highWaterMark: 1 },
  );
  const lines = pipeline(pieces, parser, () => undefined);
  try {
    for await (const { record, info } of lines as AsyncIterable<Parsed>) {
      last = info.lines;
      yield { line: info.lines, cells: record, bytes: info.bytes };
    }
  } catch (error) {
    if (error instanceof CallerError) throw error;
    const { code, lines: at } = error as { code?: string; lines?: number };
    if (!code?.startsWith("CSV_")) throw error;
    throw new MalformedTableError(
      at ?? last + 1,
      PARSE_ERROR_MESSAGES[code] ?? "The line is malformed.",
    );
  }
}

interface Parsed {
  record: string[];
  info: { lines: number; bytes: number };
}

const PARSE_ERROR_MESSAGES: Readonly<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "A quoted cell is not closed.",
  CSV_MAX_RECORD_SIZE: `A line has more than ${MAX_LINE_BYTES} characters; check for an unclosed quote.`,
  CSV_INVALID_CLOSING_QUOTE: "A quoted cell must end at its closing quote.",
  INVALID_OPENING_QUOTE: "A cell that contains a quote must be quoted.",
};

async function* decodeText(bytes: AsyncIterable<Uint8Array>, line: () => number): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decode = (piece?: Uint8Array): string => {
    try {
      return piece ? decoder.decode(piece, { stream: true }) : decoder.decode();
    } catch {
      throw new MalformedTableError(line(), "The file must be UTF-8; the first invalid byte is near this line.");
    }
  };
  for await (const piece of bytes) yield decode(piece);
  yield decode();
}
