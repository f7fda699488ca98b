import { describe, expect, it } from "vitest";
import { resample } from "../../../src/media/resample.ts";
import { amplitudeAt, db, rms, sine } from "../../support/signal-analysis.ts";

function resampled(samples: Float32Array, rateHz: number): Float32Array {
  return resample({
    rateHz,
    frames: samples.length,
    read(first, into) {
      for (let i = 0; i < into.length; i++) into[i] = samples[first + i] ?? 0;
    },
  });
}

/** Without the ends, where the filter meets silence. */
function middle(samples: Float32Array): Float32Array {
  return samples.subarray(400, samples.length - 400);
}

describe("resampling to 8 kHz", () => {
  it.each([11_025, 16_000, 22_050, 44_100, 48_000])("passes speech flat up to 3.3 kHz from %i Hz", (rateHz) => {
    for (const hz of [100, 300, 1000, 2000, 3000, 3300]) {
      const out = middle(resampled(sine(hz, 1, 0.5, rateHz), rateHz));
      expect(Math.abs(db(amplitudeAt(out, hz) / 0.5)), `${hz} Hz`).toBeLessThan(0.2);
      const [level, pure] = [rms(out) ** 2, amplitudeAt(out, hz) ** 2 / 2];
      expect(10 * Math.log10(Math.abs(level - pure) / level + 1e-9), `${hz} Hz`).toBeLessThan(-40);
    }
  });

  it.each([16_000, 22_050, 44_100, 48_000, 96_000])("causes no aliasing from %i Hz", (rateHz) => {
    for (const hz of [4100, 4700, 5000, 6500, 7900]) {
      const out = middle(resampled(sine(hz, 1, 0.5, rateHz), rateHz));
      expect(db(rms(out) / rms(sine(hz, 1))), `${hz} Hz`).toBeLessThan(-70);
    }
  });

  it("copies 8 kHz and keeps the position of a click", () => {
    const plain = sine(700, 0.5);
    expect(resampled(plain, 8000)).toEqual(plain);
    const click = new Float32Array(48_000);
    click[24_000] = 1;
    const out = resampled(click, 48_000);
    const loudest = out.reduce((best, sample, i) => (Math.abs(sample) > Math.abs(out[best] ?? 0) ? i : best), 0);
    expect(loudest).toBe(4000);
  });

  it("gives no samples for none, and the same for one block and many", () => {
    expect(resampled(new Float32Array(0), 44_100)).toHaveLength(0);
    const long = sine(500, 3, 0.5, 44_100);
    const whole = resampled(long, 44_100);
    expect(whole).toHaveLength(24_000);
    const steps = whole.map((sample, i) => Math.abs(sample - (whole[i - 1] ?? 0)));
    const largest = steps.subarray(400, 23_600).reduce((most, step) => Math.max(most, step), 0);
    expect(largest).toBeLessThan(0.5 * 2 * Math.PI * (500 / 8000) * 1.01);
  });
});
