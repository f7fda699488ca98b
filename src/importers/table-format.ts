import { isAscii } from "node:buffer";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";

/** Opens the bytes of a table from the beginning. */
export type OpenTable = () => Promise<AsyncIterable<Uint8Array>>;

/** Separator of cells by name, as in the API. */
export const DELIMITERS = { comma: ",", semicolon: ";", tab: "\t", pipe: "|" } as const;
/** Quote of cells by name; `none`: quotes are ordinary characters. */
export const QUOTES = { double: '"', single: "'", none: null } as const;
/** Encodings by name, each with its label in the Encoding Standard. @source WHATWG Encoding Standard, 4.2 Names and labels */
export const ENCODINGS = {
  "utf-8": "utf-8",
  "utf-16le": "utf-16le",
  "utf-16be": "utf-16be",
  "windows-1252": "windows-1252",
} as const;

/** How a table is written. */
export interface TableFormat {
  delimiter: keyof typeof DELIMITERS;
  encoding: keyof typeof ENCODINGS;
  quote: keyof typeof QUOTES;
}

/** A format with detected parts left out. */
export type GivenFormat = { [K in keyof TableFormat]?: TableFormat[K] | null };

/** Bytes whose lines decide the separator and the quote. */
const SAMPLE_BYTES = 65_536;
const SAMPLE_LINES = 50;
/** Bytes checked per turn of the event loop, below 1 ms. */
const SLICE_BYTES = 262_144;

/**
 * Detects encoding, separator and quote of a table, except the parts of `given`. The encoding takes the whole file: one
 * letter outside ASCII may stand in its last line. `fallback` is the separator of a table with one column.
 */
export async function detectTableFormat(
  open: OpenTable,
  given: GivenFormat,
  fallback: TableFormat["delimiter"],
  clock: Pick<Clock, "defer">,
): Promise<TableFormat> {
  const start = given.delimiter && given.encoding && given.quote ? null : await readStart(open);
  const encoding = given.encoding ?? (await detectEncoding(open, start as Buffer, clock));
  const lines = start === null ? [] : sampleLines(start, encoding);
  const quote = given.quote ?? detectQuote(lines);
  return { encoding, quote, delimiter: given.delimiter ?? detectDelimiter(lines, quote, fallback) };
}

/** The separator that a first line `sep=;` names; null for any other line. @source own: Excel writes and reads this line */
export function separatorLine(line: string): TableFormat["delimiter"] | null {
  const [, sign] = /^"?sep=(.)"?$/i.exec(line) ?? [];
  const found = Object.entries(DELIMITERS).find(([, delimiter]) => delimiter === sign);
  return (found?.[0] as TableFormat["delimiter"] | undefined) ?? null;
}

async function readStart(open: OpenTable): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of await open()) {
    pieces.push(piece);
    size += piece.length;
    if (size >= SAMPLE_BYTES) break;
  }
  return Buffer.concat(pieces).subarray(0, SAMPLE_BYTES);
}

async function detectEncoding(
  open: OpenTable,
  start: Buffer,
  clock: Pick<Clock, "defer">,
): Promise<TableFormat["encoding"]> {
  if (start[0] === 0xff && start[1] === 0xfe) return "utf-16le";
  if (start[0] === 0xfe && start[1] === 0xff) return "utf-16be";
  if (start[0] === 0xef && start[1] === 0xbb && start[2] === 0xbf) return "utf-8";
  const zeros = [0, 0];
  for (let at = 0; at < start.length; at++) if (start[at] === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  const [even = 0, odd = 0] = zeros;
  // Headers are ASCII, so every second byte of their UTF-16 is zero.
  if (odd > start.length / 8 && odd > 4 * even) return "utf-16le";
  if (even > start.length / 8 && even > 4 * odd) return "utf-16be";
  const { good, bad } = await countUtf8(open, clock);
  // A damaged line does not make a file of another encoding.
  return bad === 0 || good > bad ? "utf-8" : "windows-1252";
}

/** Letters outside ASCII, and sequences that are not UTF-8. */
async function countUtf8(open: OpenTable, clock: Pick<Clock, "defer">): Promise<{ good: number; bad: number }> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let good = 0;
  let bad = 0;
  for await (const piece of await open()) {
    for (let at = 0; at < piece.length; at += SLICE_BYTES) {
      const slice = piece.subarray(at, at + SLICE_BYTES);
      const text = decoder.decode(slice, { stream: true });
      if (!isAscii(slice)) {
        bad += text.match(/\ufffd/g)?.length ?? 0;
        good += text.match(/[\u0080-\ufffc]/g)?.length ?? 0;
      }
      await yieldToEventLoop(clock);
    }
  }
  return { good, bad: bad + (decoder.decode().match(/\ufffd/g)?.length ?? 0) };
}

function sampleLines(start: Buffer, encoding: TableFormat["encoding"]): string[] {
  const lines = new TextDecoder(ENCODINGS[encoding]).decode(start).split(/\r\n|\n|\r/);
  // The last one may be cut off.
  const whole = lines.length > 1 ? lines.slice(0, -1) : lines;
  return whole.filter((line) => line.trim() !== "").slice(0, SAMPLE_LINES);
}

/** Single quotes only if they enclose every cell of the header: apostrophes are common in names. */
function detectQuote(lines: readonly string[]): TableFormat["quote"] {
  const head = lines[separatorLine(lines[0] ?? "") === null ? 0 : 1] ?? "";
  return /^'[^']*'([,;\t|]'[^']*')*$/.test(head) ? "single" : "double";
}

/** The separator by which most lines have as many cells as the header, then that with the most cells. */
function detectDelimiter(
  sample: readonly string[],
  quote: TableFormat["quote"],
  fallback: TableFormat["delimiter"],
): TableFormat["delimiter"] {
  const named = separatorLine(sample[0] ?? "");
  if (named !== null) return named;
  let best = { name: fallback, share: 0, width: 1 };
  for (const name of Object.keys(DELIMITERS) as TableFormat["delimiter"][]) {
    const [width = 1, ...widths] = sample.map((line) => countCells(line, DELIMITERS[name], QUOTES[quote]));
    if (width < 2) continue;
    const share = widths.length === 0 ? 1 : widths.filter((each) => each === width).length / widths.length;
    const isBetter = share > best.share || (share === best.share && width > best.width);
    if (best.width === 1 || isBetter) best = { name, share, width };
  }
  return best.name;
}

function countCells(line: string, delimiter: string, quote: string | null): number {
  let count = 1;
  let isQuoted = false;
  for (let at = 0; at < line.length; at++) {
    const sign = line[at];
    if (sign === quote && (isQuoted || at === 0 || line[at - 1] === delimiter)) isQuoted = !isQuoted;
    else if (sign === delimiter && !isQuoted) count++;
  }
  return count;
}
