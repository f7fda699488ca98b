import { createHash } from "node:crypto";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CallerError, UpstreamError } from "../../../src/lib/errors.ts";
import { silentLog } from "../../../src/lib/log.ts";
import { workerEntry } from "../../../src/lib/worker-entry.ts";
import { AudioRenderer, type AudioSpec } from "../../../src/media/audio-renderer.ts";
import { CODECS } from "../../../src/media/codecs.ts";
import { encodeAudio, payloadForCodec, renderPcm } from "../../../src/media/rendered-audio.ts";
import { decodeWav } from "../../../src/media/wav.ts";
import { sine } from "../../support/signal-analysis.ts";
import { sampleBytes, wavFile } from "../../support/wav-file.ts";

const SOURCES = new URL("../../../src/media/audio-renderer.ts", import.meta.url).href;
const WAV = wavFile({ rateHz: 44_100, channels: 1, bits: 16 }, sampleBytes(sine(500, 1, 0.2, 44_100), 16));

function specFor(wav: Buffer | null, over: Partial<AudioSpec> = {}): AudioSpec & { reads: () => number } {
  let reads = 0;
  const read = async (): Promise<Uint8Array> => {
    reads++;
    return wav as Buffer;
  };
  const recording = wav && { sha256: createHash("sha256").update(wav).digest("hex"), read };
  const layout = { tone: "bell", gapMs: 500, repetitions: 1, repetitionPauseMs: 0, volumeDb: 0 };
  const spec = { ...layout, recording, ...over };
  return Object.defineProperty(spec, "reads", { value: () => reads, enumerable: false }) as typeof spec & {
    reads: () => number;
  };
}

describe("AudioRenderer", () => {
  let workers: Worker[];
  let audio: AudioRenderer;

  beforeEach(() => {
    workers = [];
    const spawn = (): Worker => {
      const worker = new Worker(workerEntry(SOURCES, "./programme-worker"));
      workers.push(worker);
      return worker;
    };
    audio = new AudioRenderer({ log: silentLog, spawn });
    audio.start();
  });

  afterEach(() => audio.stop());

  it("renders in its thread the same as the module", async () => {
    const spec = specFor(WAV);
    const programme = await audio.prepare(spec);
    const { recording: _, ...layout } = spec;
    expect(programme.pcm).toEqual(renderPcm(layout, decodeWav(WAV)));
    expect(programme.payload.buffer).toBeInstanceOf(SharedArrayBuffer);
  });

  it("encodes other codecs once each, G.722 from 16 kHz, while it renders other audio", async () => {
    const spec = specFor(WAV, { tone: null, repetitions: 20 });
    const programme = await audio.prepare(spec);
    const renditions = [
      payloadForCodec(programme, "G722"),
      payloadForCodec(programme, "PCMA"),
      payloadForCodec(programme, "G722"),
    ];
    expect((await audio.prepare(specFor(null))).packets).toBeGreaterThan(0);
    const [wide, other, again] = await Promise.all(renditions);
    expect(again).toBe(wide);
    expect(spec.reads()).toBe(3);
    expect([wide?.length, other?.length]).toEqual([programme.payload.length, programme.payload.length]);
    expect(wide?.buffer).toBeInstanceOf(SharedArrayBuffer);
    const { recording: _, ...layout } = spec;
    const samples = decodeWav(WAV, "audio", CODECS.G722.rateHz);
    expect(samples).toHaveLength(16_000);
    const [expected] = [...encodeAudio(layout, samples, { packets: programme.packets, codec: "G722" })].slice(-1);
    expect(
      Buffer.compare(expected ?? new Uint8Array(), CODECS.G722.createEncoder()(new Int16Array(wide?.length ?? 0))),
    ).not.toBe(0);
    await expect
      .poll(() => Buffer.compare(expected ?? new Uint8Array(), wide as Uint8Array), { timeout: 90_000 })
      .toBe(0);
  });

  it("renders the same audio once, reading the recording once", async () => {
    const spec = specFor(WAV);
    const [one, two] = await Promise.all([audio.prepare(spec), audio.prepare(spec)]);
    expect(two).toBe(one);
    expect(await audio.prepare(spec)).toBe(one);
    expect(spec.reads()).toBe(1);
    expect(await audio.prepare({ ...spec, tone: "chime" })).not.toBe(one);
  });

  it("evicts the oldest when the cache is full", async () => {
    const layout = { tone: "tone", repetitions: 1000, repetitionPauseMs: 1000 };
    const specs = ["bell", "chime", "klaxon"].map((tone) => specFor(WAV, { ...layout, tone, repetitions: 200 }));
    for (const spec of specs) await audio.prepare(spec);
    await audio.prepare(specs[2] as AudioSpec);
    await audio.prepare(specs[0] as AudioSpec);
    expect(specs.map((spec) => spec.reads())).toEqual([2, 1, 1]);
  });

  it("reports the caller's errors as such, each time", async () => {
    const broken = specFor(WAV.subarray(0, 1000));
    await expect(audio.prepare(broken)).rejects.toThrow(CallerError);
    await expect(audio.prepare(broken)).rejects.toThrow(/cut off/);
    expect(broken.reads()).toBe(2);
    await expect(audio.prepare(specFor(null, { tone: "siren" }))).rejects.toThrow(/alertTone/);
    expect((await audio.prepare(specFor(null))).packets).toBeGreaterThan(0);
    expect(workers).toHaveLength(1);
  });

  it("passes on why a recording cannot be read", async () => {
    const spec = specFor(null, {
      recording: { sha256: "00", read: () => Promise.reject(new UpstreamError("upstream", "disk")) },
    });
    await expect(audio.prepare(spec)).rejects.toThrow("disk");
  });

  it("fails jobs in progress when its thread dies, and continues in a new one", async () => {
    const failing = audio.prepare(specFor(WAV, { repetitions: 100 }));
    failing.catch(() => undefined);
    while ((await Promise.race([failing, null])) !== null) throw new RangeError("made too early");
    await workers[0]?.terminate();
    await expect(failing).rejects.toThrow(UpstreamError);
    expect((await audio.prepare(specFor(WAV))).packets).toBeGreaterThan(0);
    expect(workers).toHaveLength(2);
  });

  it("fails requests once stopped", async () => {
    await audio.stop();
    await expect(audio.prepare(specFor(WAV))).rejects.toThrow(UpstreamError);
    expect(workers).toHaveLength(1);
  });
});
