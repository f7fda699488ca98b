import { describe, expect, it } from "vitest";
import { encodeWav, RECORDING_HZ } from "../../../../src/console/web/ui/recording/wav.ts";
import { meterLevel, waveformOf, waveformPath } from "../../../../src/console/web/ui/recording/waveform.ts";
import { decodeWav } from "../../../../src/media/wav.ts";

describe("a recording", () => {
  it("becomes a WAV file that the appliance reads", () => {
    const samples = Float32Array.from({ length: 3_200 }, (_, i) => 0.5 * Math.sin(i / 3));
    const bytes = new Uint8Array(encodeWav(samples, RECORDING_HZ));
    expect(bytes.length).toBe(44 + 2 * samples.length);
    const decoded = decodeWav(bytes);
    expect(decoded.length).toBe(1_600);
  });

  it("clips at full scale instead of wrapping", () => {
    const view = new DataView(encodeWav(Float32Array.of(2, -2, 0), RECORDING_HZ));
    expect([view.getInt16(44, true), view.getInt16(46, true), view.getInt16(48, true)]).toEqual([32_767, -32_768, 0]);
  });
});

describe("the picture of a recording", () => {
  it("shows the peak of each segment, and the length", () => {
    const samples = Float32Array.of(0.1, -0.5, 0.2, 0, 0.3, -0.1, 0, 0);
    const seen = waveformOf(samples, 4, 4);
    expect(seen.peaks.map((peak) => Math.round(100 * peak))).toEqual([50, 20, 30, 0]);
    expect(seen).toMatchObject({ seconds: 2, clipped: false });
    expect(waveformPath(seen.peaks).match(/M/g)).toHaveLength(4);
    expect(waveformOf(new Float32Array(0), 16_000, 4)).toEqual({ seconds: 0, peaks: [], peak: 0, clipped: false });
  });

  it("says that it is cut off only when it is so more than by chance", () => {
    const loud = (n: number) => Float32Array.from({ length: 100 }, (_, i) => (i < n ? -1 : 0.2));
    expect(waveformOf(loud(2), 16_000, 10).clipped).toBe(false);
    expect(waveformOf(loud(3), 16_000, 10).clipped).toBe(true);
  });

  it("shows levels even in decibels", () => {
    expect([meterLevel(0), meterLevel(0.001), meterLevel(1), meterLevel(3)]).toEqual([0, 0, 1, 1]);
    expect(meterLevel(10 ** (-30 / 20))).toBeCloseTo(0.5);
  });
});
