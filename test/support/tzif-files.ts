import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** What a TZif file is written from. */
export interface TzifParts {
  /** 1 writes 32-bit times and no footer. */
  version?: 1 | 2 | 3 | 4;
  /** Seconds ahead of UTC before the first transition. */
  first: number;
  /** Instant in epoch seconds, and the offset from it on. */
  transitions?: readonly (readonly [at: number, offset: number])[];
  /** TZ string; empty: none. */
  footer?: string;
  leapSeconds?: number;
}

/** Encodes a TZif file. @source RFC 8536, section 3 */
export function encodeTzif({ version = 2, first, transitions = [], footer = "", leapSeconds = 0 }: TzifParts): Buffer {
  const block = (wide: boolean, transitions: NonNullable<TzifParts["transitions"]>): Buffer => {
    const types = [first, ...transitions.map(([, offset]) => offset)];
    const times = transitions.map(([at]) => {
      const bytes = Buffer.alloc(wide ? 8 : 4);
      if (wide) bytes.writeBigInt64BE(BigInt(at));
      else bytes.writeInt32BE(at);
      return bytes;
    });
    const indexes = Buffer.from(transitions.map((_, index) => index + 1));
    const records = types.map((offset) => {
      const bytes = Buffer.alloc(6);
      bytes.writeInt32BE(offset);
      return bytes;
    });
    const header = Buffer.alloc(44);
    header.write("TZif");
    header[4] = version === 1 ? 0 : 0x30 + version;
    header.writeUInt32BE(leapSeconds, 28);
    header.writeUInt32BE(transitions.length, 32);
    header.writeUInt32BE(types.length, 36);
    header.writeUInt32BE(4, 40);
    const leaps = Buffer.alloc(leapSeconds * (wide ? 12 : 8));
    return Buffer.concat([header, ...times, indexes, ...records, Buffer.from("LMT\0"), leaps]);
  };
  // Readers of version 2 skip the block of version 1, which zic leaves empty, too.
  if (version === 1) return block(false, transitions);
  return Buffer.concat([block(false, []), block(true, transitions), Buffer.from(`\n${footer}\n`)]);
}

/**
 * British Columbia stays on UTC-7: the rules for Vancouver in the releases of 2026, with the last change of the clocks on
 * 2026-03-08.
 */
export const VANCOUVER_2026 = encodeTzif({
  first: -8 * 3_600,
  transitions: [
    [Date.parse("2025-03-09T10:00:00Z") / 1_000, -7 * 3_600],
    [Date.parse("2025-11-02T09:00:00Z") / 1_000, -8 * 3_600],
    [Date.parse("2026-03-08T10:00:00Z") / 1_000, -7 * 3_600],
  ],
  footer: "MST7",
});

/** The rules for Vancouver before: UTC-8 in winter. */
export const VANCOUVER_2025 = encodeTzif({ first: -8 * 3_600, footer: "PST8PDT,M3.2.0,M11.1.0" });

/** A version that is newer than any data of this machine and of Node. */
export const NEWER_VERSION = "2098b";

/** Writes a database with some zones into a folder; each file is replaced at once, as package managers do. */
export function writeZoneFolder(folder: string, version: string, zones: Readonly<Record<string, Buffer>>): void {
  for (const [name, bytes] of Object.entries({ "Etc/UTC": encodeTzif({ first: 0, footer: "UTC0" }), ...zones }))
    replaceFile(join(folder, name), bytes);
  replaceFile(
    join(folder, "tzdata.zi"),
    Buffer.from(`# version ${version}\n# This zic input file is in the public domain.\n`),
  );
}

function replaceFile(path: string, bytes: Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, bytes);
  renameSync(`${path}.new`, path);
}
