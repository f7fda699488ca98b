import { describe, expect, it } from "vitest";
import { encodeMuLaw, MU_LAW_SILENCE, muLawTable } from "../../../../src/tools/simulator/mu-law.ts";

/** Positive decision values x1..x128 of G.711 table 2a begin each segment here, in 14 bits; the code of the step above. */
const SEGMENT_STARTS = [
  [31, 0xef],
  [95, 0xdf],
  [223, 0xcf],
  [479, 0xbf],
  [991, 0xaf],
  [2015, 0x9f],
  [4063, 0x8f],
] as const;

describe("µ-law of the campus", () => {
  const table = muLawTable();
  const code = (sample: number): number => table[sample & 0xffff] ?? -1;

  it("has the segments of the standard, in both directions", () => {
    for (const [start, expected] of SEGMENT_STARTS) {
      expect(code(start * 4)).toBe(expected);
      expect(code(start * 4 - 1)).toBe(expected + 1);
      expect(code(-start * 4)).toBe(expected - 0x80);
      expect(code(1 - start * 4)).toBe(expected - 0x7f);
    }
  });

  it("gives silence, the ends and both signs their bytes", () => {
    expect([0, 1, -1, 32_767, -32_768].map(code)).toEqual([MU_LAW_SILENCE, 0xff, 0x7f, 0x80, 0x00]);
  });

  it("never falls as the sample rises", () => {
    const linear = (byte: number): number => (byte & 0x80 ? 0xff - byte : byte - 0x7f);
    const falls: number[] = [];
    for (let sample = -32_767; sample <= 32_767; sample++) {
      if (linear(code(sample)) < linear(code(sample - 1))) falls.push(sample);
    }
    expect(falls).toEqual([]);
  });

  it("encodes sample by sample", () => {
    expect([...encodeMuLaw(Int16Array.of(0, -32_768, 32_767), table)]).toEqual([0xff, 0x00, 0x80]);
    expect(encodeMuLaw(new Int16Array(0), table)).toHaveLength(0);
  });
});
