import { describe, expect, it } from "vitest";
import { decodeMuLaw, encodeMuLaw } from "../../../src/media/mu-law.ts";
import { muLawTable } from "../../../src/tools/simulator/mu-law.ts";

const ALL = Int16Array.from({ length: 65_536 }, (_, index) => index - 32_768);
const CODES = Uint8Array.from({ length: 256 }, (_, code) => code);

describe("G.711 µ-law", () => {
  it("encodes every sample like a table of the standard's decision values", () => {
    const table = muLawTable();
    expect(encodeMuLaw(ALL)).toEqual(Uint8Array.from(ALL, (sample) => table[sample & 0xffff] ?? 0));
  });

  it("decodes to the standard's quantised values", () => {
    /** Positive values of the first step of each segment, and the last of all. @source ITU-T G.711 table 2a, y1..y128, times 4 */
    const known: [number, number][] = [
      [0xff, 0],
      [0xfe, 8],
      [0xef, 132],
      [0xdf, 396],
      [0xcf, 924],
      [0xbf, 1980],
      [0xaf, 4092],
      [0x9f, 8316],
      [0x8f, 16_764],
      [0x80, 32_124],
    ];
    for (const [code, value] of known) {
      expect([...decodeMuLaw(Uint8Array.of(code, code - 0x80))]).toEqual([value, -value || 0]);
    }
  });

  it("round-trips every code but the negative zero", () => {
    const again = encodeMuLaw(decodeMuLaw(CODES));
    expect([...again].filter((code, index) => code !== index)).toEqual([0xff]);
    expect(again[0x7f]).toBe(0xff);
  });

  it("writes into the given memory", () => {
    const shared = new Uint8Array(new SharedArrayBuffer(3));
    expect(encodeMuLaw(Int16Array.of(0, 32_767, -32_768), shared)).toBe(shared);
    expect([...shared]).toEqual([0xff, 0x80, 0x00]);
  });
});
