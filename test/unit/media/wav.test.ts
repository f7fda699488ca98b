import { describe, expect, it } from "vitest";
import { CallerError } from "../../../src/lib/errors.ts";
import { decodeWav, encodeWav, inspectWav } from "../../../src/media/wav.ts";
import { correlation, db, rms, sine } from "../../support/signal-analysis.ts";
import { chunk, sampleBytes, type WavForm, wavFile } from "../../support/wav-file.ts";

const SECOND = sine(440, 1, 0.5, 8000);
const PLAIN: WavForm = { rateHz: 8000, channels: 1, bits: 16 };
const MONO = sampleBytes(SECOND, 16);

describe("WAV files", () => {
  it.each([
    [8, false, -45],
    [16, false, -88],
    [24, false, -130],
    [32, false, -130],
    [32, true, -130],
  ] as const)("are read at %i bits (float: %s)", (bits, float, noiseDb) => {
    const file = wavFile({ ...PLAIN, bits, tag: float ? 3 : 1 }, sampleBytes(SECOND, bits, float));
    expect(inspectWav(file)).toMatchObject({ bits, float, channels: 1, frames: 8000, durationMs: 1000 });
    const samples = decodeWav(file);
    const error = samples.map((sample, i) => sample - (SECOND[i] ?? 0));
    expect(db(rms(error))).toBeLessThan(noiseDb);
  });

  it("are averaged if stereo", () => {
    const left = sine(440, 1, 0.6);
    const right = sine(1000, 1, 0.2);
    const samples = decodeWav(wavFile({ ...PLAIN, channels: 2 }, sampleBytes(left, 16, false, right)));
    const error = samples.map((sample, i) => sample - ((left[i] ?? 0) + (right[i] ?? 0)) / 2);
    expect(samples).toHaveLength(8000);
    expect(db(rms(error))).toBeLessThan(-85);
  });

  it.each([8000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000])("keep pitch, level and length at %i Hz", (rateHz) => {
    const file = wavFile({ ...PLAIN, rateHz }, sampleBytes(sine(1000, 1, 0.5, rateHz), 16));
    const samples = decodeWav(file);
    expect(Math.abs(samples.length - 8000)).toBeLessThanOrEqual(1);
    expect(correlation(samples.subarray(200, 7800), sine(1000, 1).subarray(200, 7800))).toBeGreaterThan(0.9999);
    expect(Math.abs(db(rms(samples.subarray(200, 7800)) / rms(SECOND)))).toBeLessThan(0.1);
  });

  it("are read with extensible format, other chunks, odd lengths and at an odd memory offset", () => {
    const extensible = wavFile({ ...PLAIN, tag: 0xfffe, before: chunk("LIST", Buffer.from("odd")) }, MONO);
    const padded = Buffer.concat([Buffer.alloc(1), extensible]).subarray(1);
    expect(decodeWav(padded)).toEqual(decodeWav(wavFile(PLAIN, MONO)));
    expect(inspectWav(wavFile({ ...PLAIN, tag: 0xfffe, subFormat: 3, bits: 32 }, Buffer.alloc(8))).float).toBe(true);
  });

  it("are read without a partial sample at the end", () => {
    expect(inspectWav(wavFile(PLAIN, Buffer.alloc(5))).frames).toBe(2);
  });

  it("read floats beyond full scale as full scale, and NaN as silence", () => {
    const odd = Float32Array.of(2, -2, Number.NaN, Number.POSITIVE_INFINITY, 0.25);
    const samples = decodeWav(wavFile({ ...PLAIN, bits: 32, tag: 3 }, sampleBytes(odd, 32, true)));
    expect([...samples]).toEqual([1, -1, 0, 1, 0.25]);
  });

  it.each<[string, Buffer]>([
    ["nothing", Buffer.alloc(0)],
    ["text", Buffer.from("not a recording at all, only words")],
    ["another RIFF", chunk("RIFF", Buffer.from("AVI "))],
    ["no chunks", chunk("RIFF", Buffer.from("WAVE"))],
    ["data before the format", chunk("RIFF", Buffer.concat([Buffer.from("WAVE"), chunk("data", MONO)]))],
    [
      "a short format",
      chunk("RIFF", Buffer.concat([Buffer.from("WAVE"), chunk("fmt ", Buffer.alloc(8)), chunk("data", MONO)])),
    ],
    ["a header alone", wavFile(PLAIN, Buffer.alloc(0))],
    ["less than a sample", wavFile(PLAIN, Buffer.alloc(1))],
    ["a cut-off file", wavFile(PLAIN, MONO).subarray(0, 5000)],
    ["a file cut off in its header", wavFile(PLAIN, MONO).subarray(0, 30)],
    ["more announced than there is", wavFile({ ...PLAIN, announcedBytes: 0xffff_fff0 }, MONO)],
    ["µ-law", wavFile({ ...PLAIN, tag: 7, bits: 8 }, MONO)],
    ["12 bits", wavFile({ ...PLAIN, bits: 12 }, MONO)],
    ["64-bit floats", wavFile({ ...PLAIN, bits: 64, tag: 3 }, MONO)],
    ["no channel", wavFile({ ...PLAIN, channels: 0 }, MONO)],
    ["six channels", wavFile({ ...PLAIN, channels: 6 }, MONO)],
    ["0 Hz", wavFile({ ...PLAIN, rateHz: 0 }, MONO)],
    ["4 kHz", wavFile({ ...PLAIN, rateHz: 4000 }, MONO)],
    ["192 kHz", wavFile({ ...PLAIN, rateHz: 192_000 }, MONO)],
    ["a block size that contradicts", wavFile({ ...PLAIN, blockBytes: 7 }, MONO)],
    ["eleven minutes", wavFile({ ...PLAIN, bits: 8 }, Buffer.alloc(11 * 60 * 8000))],
  ])("refuse %s in words, naming the field", (_, bytes) => {
    let caught: unknown;
    try {
      inspectWav(bytes, "recording");
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(CallerError);
    expect((caught as CallerError).faults).toMatchObject([{ field: "recording", type: "invalid-value" }]);
    expect(() => decodeWav(bytes)).toThrow(CallerError);
  });

  it("survive any damage: rejected, or read within bounds", () => {
    const file = wavFile(PLAIN, MONO.subarray(0, 200));
    for (let at = 0; at < 48; at++) {
      for (const byte of [0x00, 0x01, 0x7f, 0xff]) {
        const damaged = Buffer.from(file);
        damaged[at] = byte;
        try {
          expect(decodeWav(damaged).length).toBeLessThanOrEqual(200);
        } catch (error) {
          expect(error).toBeInstanceOf(CallerError);
        }
      }
    }
  });

  it("round-trip", () => {
    const pcm = Int16Array.from({ length: 1000 }, (_, n) => (n * 7919) % 32_768);
    const file = encodeWav(pcm);
    expect(file).toEqual(wavFile(PLAIN, Buffer.from(pcm.buffer)));
    expect(inspectWav(encodeWav(pcm))).toMatchObject({ rateHz: 8000, channels: 1, bits: 16, frames: 1000 });
  });
});
