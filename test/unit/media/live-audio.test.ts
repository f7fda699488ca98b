import { describe, expect, it } from "vitest";
import { CODECS } from "../../../src/media/codecs.ts";
import { createLiveAudio } from "../../../src/media/live-audio.ts";
import { decodeMuLaw } from "../../../src/media/mu-law.ts";
import { createRenderedAudio, payloadForCodec } from "../../../src/media/rendered-audio.ts";
import { createStreamingResampler, resample } from "../../../src/media/resample.ts";
import { sine } from "../../support/signal-analysis.ts";

const OPENING = createRenderedAudio("opening", new Int16Array(800).fill(9_000));
/** 20 ms of a unique level. */
const piece = (level: number): Float32Array => new Float32Array(160).fill(level);

/** What leaves in the packets from `fromMs` to `toMs`. */
function sent(payload: Uint8Array, fromMs: number, toMs: number): number[] {
  const levels = decodeMuLaw(payload.subarray(8 * fromMs, 8 * toMs));
  return [...new Set([...levels].map((sample) => Math.round(sample / 3_277) / 10))];
}

describe("live audio", () => {
  it("plays its opening, then the voice three packets later, then silence", () => {
    const live = createLiveAudio("a", OPENING, 2_000);
    live.start(1_000);
    expect(live.writeVoice(piece(0.5), 1_099)).toBe(false);
    for (const [n, level] of [0.2, 0.4, 0.6].entries())
      expect(live.writeVoice(piece(level), 1_200 + 20 * n)).toBe(true);
    const { payload, durationMs } = live.rendered;
    expect(durationMs).toBe(2_100);
    expect(sent(payload, 0, 100)).toEqual([0.3]);
    expect(sent(payload, 100, 260)).toEqual([0]);
    expect(sent(payload, 260, 280)).toEqual([0.2]);
    expect(sent(payload, 280, 320)).toEqual([0.4, 0.6]);
    expect(sent(payload, 320, 2_100)).toEqual([0]);
    expect(live.remainingMs(1_280)).toBe(40);
    expect([...live.recordedVoice()].flatMap((part) => [...part])).toHaveLength(8 * (320 - 100));
  });

  it("continues with the full lead after an interruption, and drops late bursts", () => {
    const live = createLiveAudio("a", null, 3_000);
    live.start(0);
    live.writeVoice(piece(0.2), 0);
    const late = Array.from({ length: 12 }, () => live.writeVoice(piece(0.4), 500));
    expect(late.filter(Boolean)).toHaveLength(7);
    expect(sent(live.rendered.payload, 60, 80)).toEqual([0.2]);
    expect(sent(live.rendered.payload, 80, 560)).toEqual([0]);
    expect(sent(live.rendered.payload, 560, 700)).toEqual([0.4]);
    expect(sent(live.rendered.payload, 700, 3_000)).toEqual([0]);
  });

  it("encodes the voice in other codecs from the request on, after the opening", async () => {
    const opening = { ...OPENING, rendition: async () => new Uint8Array(800).fill(7) };
    const live = createLiveAudio("a", opening, 2_000);
    const wide = await payloadForCodec(live.rendered, "G722");
    const narrow = await payloadForCodec(live.rendered, "PCMA");
    expect(await payloadForCodec(live.rendered, "G722")).toBe(wide);
    live.start(0);
    for (let n = 0; n < 10; n++) expect(live.writeVoice(piece(n % 2 ? 0.5 : -0.5), 100 + 20 * n)).toBe(true);
    expect([...new Set(wide.subarray(0, 800))]).toEqual([7]);
    const isSilent = (part: Uint8Array, code: number): boolean => part.every((byte) => byte === code);
    const { G722, PCMA } = CODECS;
    expect(isSilent(wide.subarray(800, 1_280), G722.silenceByte)).toBe(true);
    expect(isSilent(wide.subarray(1_280, 2_800), G722.silenceByte)).toBe(false);
    expect(isSilent(wide.subarray(2_880), G722.silenceByte)).toBe(true);
    expect(narrow.subarray(1_280, 2_880)).toEqual(
      PCMA.createEncoder()(decodeMuLaw(live.rendered.payload.subarray(1_280, 2_880)).map((x) => Math.sign(x) * 16_384)),
    );
  });

  it("accepts nothing before its start, beyond its length or once it is closed", () => {
    const live = createLiveAudio("a", null, 100);
    expect(live.writeVoice(piece(1), 0)).toBe(false);
    live.start(0);
    expect(live.writeVoice(new Float32Array(4_000).fill(0.5), 0)).toBe(true);
    expect(live.writeVoice(piece(1), 60)).toBe(false);
    expect(live.rendered.closed?.aborted).toBe(false);
    live.close();
    expect(live.rendered.closed?.aborted).toBe(true);
    expect(live.writeVoice(piece(1), 0)).toBe(false);
  });
});

describe("streaming resampling", () => {
  it.each([8_000, 16_000, 44_100, 48_000])(
    "from %i Hz gives the same as resampling the whole, whatever the pieces",
    (rateHz) => {
      const whole = sine(700, 0.6, 0.5, rateHz);
      const read = (first: number, into: Float32Array): void => {
        for (let i = 0; i < into.length; i++) into[i] = whole[first + i] ?? 0;
      };
      const expected = resample({ rateHz, frames: whole.length, read });
      const listen = createStreamingResampler(rateHz);
      const heard: number[] = [];
      for (let at = 0, n = 1; at < whole.length; at += n, n = (n * 7) % 1_501)
        heard.push(...listen(whole.slice(at, at + n)));
      expect(expected.length - heard.length).toBeLessThan(60);
      expect(heard.every((sample, i) => Math.abs(sample - (expected[i] as number)) < 1e-5)).toBe(true);
    },
  );
});
