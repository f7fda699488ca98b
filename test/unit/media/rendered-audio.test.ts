import { describe, expect, it } from "vitest";
import { CallerError } from "../../../src/lib/errors.ts";
import { activeRms, amplitudeFromDb, PEAK_CEILING_DBFS, REFERENCE_DBFS } from "../../../src/media/loudness.ts";
import { decodeMuLaw } from "../../../src/media/mu-law.ts";
import { type AudioLayout, audioHash, createRenderedAudio, renderPcm } from "../../../src/media/rendered-audio.ts";
import { fromPcm } from "../../../src/media/samples.ts";
import { renderTone } from "../../../src/media/tones.ts";
import { amplitudeAt, db, sine } from "../../support/signal-analysis.ts";

const LAYOUT: AudioLayout = { tone: "tone", gapMs: 500, repetitions: 1, repetitionPauseMs: 1000, volumeDb: 0 };
const TONE = renderTone("tone").length;
const SPEECH = (): Float32Array => sine(440, 1, 0.05);
const isSilent = (pcm: Int16Array): boolean => pcm.every((sample) => sample === 0);

describe("rendered audio", () => {
  it("consists of tone, gap and recording, padded with silence to whole packets", () => {
    const pcm = renderPcm(LAYOUT, SPEECH().subarray(0, 7990));
    expect(pcm).toHaveLength(Math.ceil((TONE + 4000 + 7990) / 160) * 160);
    expect(pcm.subarray(0, TONE)).toEqual(renderTone("tone"));
    expect(isSilent(pcm.subarray(TONE, TONE + 4000))).toBe(true);
    expect(amplitudeAt(fromPcm(pcm.subarray(TONE + 4000, TONE + 11_990)), 440)).toBeGreaterThan(0.2);
    expect(isSilent(pcm.subarray(TONE + 11_990))).toBe(true);
  });

  it("brings the recording to the level of the tone", () => {
    const pcm = fromPcm(renderPcm(LAYOUT, SPEECH()));
    expect(Math.abs(db(activeRms(pcm.subarray(TONE + 4000))) - REFERENCE_DBFS)).toBeLessThan(0.2);
    expect(Math.abs(db(activeRms(pcm.subarray(0, TONE))) - REFERENCE_DBFS)).toBeLessThan(0.2);
  });

  it("has no gap with only one of both", () => {
    expect(renderPcm(LAYOUT, null)).toHaveLength(Math.ceil(TONE / 160) * 160);
    expect(renderPcm({ ...LAYOUT, tone: null }, SPEECH())).toHaveLength(8000);
    expect(renderPcm({ ...LAYOUT, tone: "silent" }, SPEECH())).toHaveLength(8000);
  });

  it("repeats the whole with pauses", () => {
    const pcm = renderPcm({ ...LAYOUT, repetitions: 3 }, SPEECH());
    const once = TONE + 4000 + 8000;
    expect(pcm).toHaveLength(Math.ceil((3 * once + 2 * 8000) / 160) * 160);
    for (const n of [1, 2]) {
      const at = n * (once + 8000);
      expect(pcm.subarray(at, at + once)).toEqual(pcm.subarray(0, once));
      expect(isSilent(pcm.subarray(at - 8000, at))).toBe(true);
    }
  });

  it("is empty when nothing is audible", () => {
    for (const tone of [null, "silent"]) {
      expect(renderPcm({ ...LAYOUT, tone, repetitions: 5 }, null)).toHaveLength(0);
    }
    expect(createRenderedAudio("h", new Int16Array(0))).toMatchObject({ packets: 0, durationMs: 0 });
  });

  it("follows the volume, never beyond the ceiling", () => {
    const loud = (volumeDb: number): Float32Array => fromPcm(renderPcm({ ...LAYOUT, volumeDb }, null));
    expect(Math.abs(db(activeRms(loud(-10)) / activeRms(loud(0))) + 10)).toBeLessThan(0.1);
    const peak = loud(30).reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
    expect(db(peak)).toBeLessThanOrEqual(PEAK_CEILING_DBFS + 0.01);
    expect(peak).toBeGreaterThan(amplitudeFromDb(-2));
  });

  it("rejects an unknown tone and more than an hour", () => {
    expect(() => renderPcm({ ...LAYOUT, tone: "siren" }, null)).toThrow(/alertTone/);
    const hours = (): unknown => renderPcm({ ...LAYOUT, repetitions: 2000, repetitionPauseMs: 2000 }, null);
    expect(hours).toThrow(CallerError);
    expect(hours).toThrow(/repetitions/);
  });

  it("holds µ-law in shared memory", () => {
    const pcm = renderPcm(LAYOUT, SPEECH());
    const made = createRenderedAudio("key", pcm);
    expect(made.payload.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(made).toMatchObject({ hash: "key", packets: pcm.length / 160, durationMs: pcm.length / 8 });
    const decoded = decodeMuLaw(made.payload);
    const worst = pcm.reduce((most, sample, i) => {
      const allowed = Math.abs(sample) / 24 + 8;
      return Math.max(most, Math.abs(sample - (decoded[i] ?? 0)) / allowed);
    }, 0);
    expect(worst).toBeLessThan(1);
  });

  it("has a hash that every audible change affects", () => {
    const changes: Partial<AudioLayout>[] = [
      {},
      { tone: "bell" },
      { tone: null },
      { gapMs: 0 },
      { repetitions: 2 },
      { repetitionPauseMs: 0 },
      { volumeDb: 3 },
    ];
    const keys = [
      ...changes.map((change) => audioHash({ ...LAYOUT, ...change }, null)),
      audioHash(LAYOUT, "ab"),
      audioHash(LAYOUT, "cd"),
    ];
    expect(new Set(keys).size).toBe(keys.length);
    expect(audioHash({ ...LAYOUT }, "ab")).toBe(audioHash(LAYOUT, "ab"));
  });
});
