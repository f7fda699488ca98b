import { describe, expect, it } from "vitest";
import { CallerError } from "../../../src/lib/errors.ts";
import { activeRms, amplitudeFromDb, PEAK_CEILING_DBFS, REFERENCE_DBFS } from "../../../src/media/loudness.ts";
import { fromPcm } from "../../../src/media/samples.ts";
import { ALERT_TONES, renderTone, toneSegments } from "../../../src/media/tones.ts";
import { ALERT_TONE_NAMES } from "../../../src/resources/messages/alert-tones.ts";
import { amplitudeAt, db, rms, strongestPitch } from "../../support/signal-analysis.ts";

const AUDIBLE = ALERT_TONES.filter((name) => name !== "silent");
/** Semitones from 300 Hz to 3.4 kHz. */
const PITCHES = Array.from({ length: 43 }, (_, n) => 300 * 2 ** (n / 12));

/** What is heard of a tone every 100 ms: the strongest pitch, 0 for silence. */
function melody(name: string): number[] {
  const samples = fromPcm(renderTone(name));
  const heard: number[] = [];
  for (let at = 0; at + 800 <= samples.length; at += 800) {
    const piece = samples.subarray(at + 250, at + 550);
    heard.push(db(rms(piece)) < -45 ? 0 : Math.round(strongestPitch(piece, PITCHES)));
  }
  return heard;
}

describe("alert tones", () => {
  it("exist for every name of the API and no other", () => {
    expect(ALERT_TONES).toEqual([...ALERT_TONE_NAMES].sort());
  });

  it("differ from one another: each has its own melody", () => {
    const melodies = AUDIBLE.map((name) => [name, melody(name)] as const);
    for (const [name, mine] of melodies) {
      for (const [other, theirs] of melodies) {
        if (name >= other) continue;
        const length = Math.max(mine.length, theirs.length);
        const differing = Array.from({ length }, (_, n) => n).filter((n) => {
          const [a = 0, b = 0] = [mine[n], theirs[n]];
          return a === 0 || b === 0 ? a !== b : Math.abs(Math.log2(a / b)) > 1 / 10;
        });
        expect(differing.length / length, `${name} and ${other}`).toBeGreaterThan(0.3);
      }
    }
  });

  it.each(AUDIBLE)("%s is as loud as the others and not clipped", (name) => {
    const samples = fromPcm(renderTone(name));
    expect(Math.abs(db(activeRms(samples)) - REFERENCE_DBFS)).toBeLessThan(1);
    const peak = samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    expect(peak).toBeLessThanOrEqual(amplitudeFromDb(PEAK_CEILING_DBFS + 4));
    expect(samples.length / 8000).toBeGreaterThan(0.9);
    expect(samples.length / 8000).toBeLessThan(6);
  });

  it.each(AUDIBLE)("%s stays within the telephone band and starts and ends without a click", (name) => {
    for (const segment of toneSegments(name)) {
      for (const hz of [...segment.frequenciesHz, ...(segment.glideToHz ?? [])]) {
        expect(hz).toBeGreaterThanOrEqual(300);
        expect(hz).toBeLessThanOrEqual(3400);
      }
    }
    const samples = renderTone(name);
    expect(Math.abs(samples[0] ?? 1)).toBeLessThan(50);
    expect(Math.abs(samples.at(-1) ?? 1)).toBeLessThan(50);
  });

  it("have the pitches they are made of, in order", () => {
    const samples = fromPcm(renderTone("class-change1"));
    const pitches = [660, 550, 880];
    const parts = [0, 300, 600, 900].map((ms) => strongestPitch(samples.subarray(ms * 8, ms * 8 + 1600), pitches));
    expect(parts).toEqual([660, 550, 660, 880]);
    const glide = fromPcm(renderTone("evacuate1"));
    const [low, middle, high] = [0, 550, 1100].map((ms) => glide.subarray(ms * 8, ms * 8 + 800));
    expect(amplitudeAt(low as Float32Array, 530)).toBeGreaterThan(0.08);
    expect(amplitudeAt(middle as Float32Array, 850)).toBeGreaterThan(0.08);
    expect(amplitudeAt(high as Float32Array, 1170)).toBeGreaterThan(0.08);
  });

  it("are the same every time, and empty for silent", () => {
    expect(renderTone("bell")).toEqual(renderTone("bell"));
    expect(renderTone("silent")).toHaveLength(0);
  });

  it.each(["siren", "", "Bell", "toString", "__proto__"])("%s is rejected with the available names", (name) => {
    expect(() => renderTone(name)).toThrow(CallerError);
    expect(() => toneSegments(name)).toThrow(/bell, bright, chime/);
  });
});
