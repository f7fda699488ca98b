import { sentence } from "../lib/sentences/sentences.ts";
import { type PosixRule, parsePosixRule } from "./posix-rule.ts";

/** The content of a TZif file: offsets in seconds ahead of UTC, instants in epoch seconds. */
export interface TzifContent {
  /** Before the first transition. */
  firstOffset: number;
  /** Sorted. `offsets[i]` applies from `instants[i]`. */
  instants: readonly number[];
  offsets: readonly number[];
  abbreviations: readonly string[];
  firstAbbreviation: string;
  /** Applies after the last transition; null: the last offset stays. */
  rule: PosixRule | null;
}

const HEADER_BYTES = 44;
const MAX_OFFSET_S = 26 * 3_600;
/** Files of the database have at most a few kilobytes. */
const MAX_TZIF_BYTES = 262_144;

interface Counts {
  utc: number;
  standard: number;
  leap: number;
  time: number;
  type: number;
  char: number;
}

/** Error of a file that is not a usable TZif file; the message says why. */
export class TzifError extends Error {}

/**
 * Reads a TZif file of version 1 to 4, with its footer. Throws TzifError for any other content, and for a file with leap
 * seconds, whose instants are not epoch seconds. @source RFC 8536, section 3; RFC 9636 for version 4
 */
export function parseTzif(bytes: Buffer): TzifContent {
  if (bytes.length > MAX_TZIF_BYTES) throw new TzifError(sentence("time-zones.too-large"));
  const version = readVersion(bytes, 0);
  const first = readCounts(bytes, 0);
  if (version === 1) return parseBlock(bytes, HEADER_BYTES, first, 4, null);
  const second = HEADER_BYTES + blockBytes(first, 4);
  readVersion(bytes, second);
  const counts = readCounts(bytes, second);
  const start = second + HEADER_BYTES;
  const end = start + blockBytes(counts, 8);
  if (bytes.length < end) throw new TzifError("truncated");
  return parseBlock(bytes, start, counts, 8, parseFooter(bytes, end));
}

function readVersion(bytes: Buffer, at: number): number {
  if (bytes.length < at + HEADER_BYTES) throw new TzifError("truncated");
  if (bytes.toString("latin1", at, at + 4) !== "TZif") throw new TzifError(sentence("time-zones.not-tzif"));
  const byte = bytes[at + 4] ?? 0;
  if (byte === 0) return 1;
  // A reader takes later versions as the latest that it knows. @source RFC 8536, section 3.1
  if (byte >= 0x32 && byte <= 0x39) return byte - 0x30;
  throw new TzifError(sentence("time-zones.version-unknown"));
}

function readCounts(bytes: Buffer, at: number): Counts {
  const [utc, standard, leap, time, type, char] = [20, 24, 28, 32, 36, 40].map((from) => bytes.readUInt32BE(at + from));
  return { utc, standard, leap, time, type, char } as Counts;
}

function blockBytes({ utc, standard, leap, time, type, char }: Counts, timeBytes: number): number {
  return time * (timeBytes + 1) + type * 6 + char + leap * (timeBytes + 4) + standard + utc;
}

function parseBlock(
  bytes: Buffer,
  start: number,
  counts: Counts,
  timeBytes: 4 | 8,
  rule: PosixRule | null,
): TzifContent {
  if (bytes.length < start + blockBytes(counts, timeBytes)) throw new TzifError("truncated");
  if (counts.leap > 0) throw new TzifError(sentence("time-zones.leap-seconds"));
  if (counts.type === 0 || counts.char === 0) throw new TzifError(sentence("time-zones.no-types"));
  const indexes = start + counts.time * timeBytes;
  const types = indexes + counts.time;
  const names = types + counts.type * 6;
  const typeAt = (index: number): { offset: number; abbreviation: string } => {
    const at = types + index * 6;
    const offset = bytes.readInt32BE(at);
    const nameAt = bytes[at + 5] ?? 0;
    if (Math.abs(offset) > MAX_OFFSET_S || nameAt >= counts.char)
      throw new TzifError(sentence("time-zones.type-invalid"));
    const end = bytes.indexOf(0, names + nameAt);
    return { offset, abbreviation: bytes.toString("latin1", names + nameAt, Math.min(end, names + counts.char)) };
  };
  const all = Array.from({ length: counts.type }, (_, index) => typeAt(index));
  const instants: number[] = [];
  const offsets: number[] = [];
  const abbreviations: string[] = [];
  for (let index = 0; index < counts.time; index++) {
    const at = start + index * timeBytes;
    const instant = timeBytes === 4 ? bytes.readInt32BE(at) : Number(bytes.readBigInt64BE(at));
    const type = all[bytes[indexes + index] ?? 0];
    if (!type || instant <= (instants.at(-1) ?? Number.NEGATIVE_INFINITY))
      throw new TzifError(sentence("time-zones.transition-invalid"));
    instants.push(instant);
    offsets.push(type.offset);
    abbreviations.push(type.abbreviation);
  }
  const [{ offset: firstOffset, abbreviation: firstAbbreviation }] = all as [(typeof all)[number]];
  return { firstOffset, firstAbbreviation, instants, offsets, abbreviations, rule };
}

/** Between two line feeds; empty: the data end with the last transition. */
function parseFooter(bytes: Buffer, start: number): PosixRule | null {
  const end = bytes.indexOf(0x0a, start + 1);
  if (bytes[start] !== 0x0a || end < 0) throw new TzifError(sentence("time-zones.footer-missing"));
  const text = bytes.toString("latin1", start + 1, end);
  if (text === "") return null;
  const rule = parsePosixRule(text);
  if (!rule) throw new TzifError(sentence("time-zones.footer-invalid", { text: text.slice(0, 100) }));
  return rule;
}
