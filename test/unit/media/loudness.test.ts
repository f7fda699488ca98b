import { describe, expect, it } from "vitest";
import {
  activeRms,
  amplitudeFromDb,
  limitPeaks,
  normalizeLoudness,
  PEAK_CEILING_DBFS,
  REFERENCE_DBFS,
} from "../../../src/media/loudness.ts";
import { db, sine } from "../../support/signal-analysis.ts";

const silence = (seconds: number): Float32Array => new Float32Array(seconds * 8000);
const peakOf = (samples: Float32Array): number => samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);

function joined(...parts: Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

describe("loudness", () => {
  it("measures the audible parts, not the pauses", () => {
    const speech = sine(440, 1, 0.5);
    const alone = activeRms(speech);
    expect(alone).toBeCloseTo(0.5 / Math.SQRT2, 4);
    expect(activeRms(joined(speech, silence(5), speech))).toBeCloseTo(alone, 3);
    expect(activeRms(joined(speech, sine(440, 5, 0.01)))).toBeCloseTo(alone, 2);
    expect(activeRms(silence(1))).toBe(0);
    expect(activeRms(new Float32Array(0))).toBe(0);
  });

  it.each([0.02, 0.1, 0.5, 0.99])("brings a recording of amplitude %d to the reference level", (level) => {
    const samples = joined(silence(1), sine(300, 1, level), silence(1));
    normalizeLoudness(samples);
    expect(Math.abs(db(activeRms(samples)) - REFERENCE_DBFS)).toBeLessThan(0.1);
  });

  it("amplifies a whisper by 30 dB at most, and leaves silence alone", () => {
    const whisper = sine(300, 1, amplitudeFromDb(-50));
    normalizeLoudness(whisper);
    expect(db(peakOf(whisper))).toBeCloseTo(-20, 1);
    const nothing = silence(1);
    normalizeLoudness(nothing);
    expect(peakOf(nothing)).toBe(0);
  });

  it("stays softer rather than limit peaks by more than 6 dB", () => {
    const peaky = sine(300, 2, amplitudeFromDb(-30));
    for (let at = 100; at < peaky.length; at += 1600) peaky[at] = 0.9;
    normalizeLoudness(peaky);
    expect(db(peakOf(peaky))).toBeCloseTo(PEAK_CEILING_DBFS + 6, 3);
  });
});

describe("the limiter", () => {
  it("keeps every sample below the ceiling and leaves distant ones untouched", () => {
    const samples = sine(300, 1, 0.3);
    const before = samples.slice();
    samples[4000] = 3;
    limitPeaks(samples);
    expect(peakOf(samples)).toBeLessThanOrEqual(amplitudeFromDb(PEAK_CEILING_DBFS) + 1e-6);
    expect(samples.subarray(0, 3800)).toEqual(before.subarray(0, 3800));
    expect(samples.subarray(4200)).toEqual(before.subarray(4200));
  });

  it("changes the gain smoothly, without steps", () => {
    const samples = sine(100, 1, 0.4).map((sample, i) => sample * (i > 3000 && i < 5000 ? 4 : 1));
    limitPeaks(samples);
    const calm = samples.subarray(5200);
    const steps = calm.map((sample, i) => (i === 0 ? 0 : Math.abs(sample - (calm[i - 1] ?? 0))));
    expect(peakOf(steps)).toBeLessThan(0.4 * 2 * Math.PI * (100 / 8000) * 1.05);
    expect(peakOf(samples)).toBeLessThanOrEqual(amplitudeFromDb(PEAK_CEILING_DBFS) + 1e-6);
  });

  it("does nothing below the ceiling, at the edges too", () => {
    const samples = sine(300, 0.1, 0.5);
    const before = samples.slice();
    limitPeaks(samples);
    expect(samples).toEqual(before);
    const short = Float32Array.of(2, -3);
    limitPeaks(short);
    expect(peakOf(short)).toBeLessThanOrEqual(amplitudeFromDb(PEAK_CEILING_DBFS) + 1e-6);
    limitPeaks(new Float32Array(0));
  });
});
