import { createHash } from "node:crypto";
import { invalidValue, UpstreamError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { CODECS, type Codec } from "./codecs.ts";
import { amplitudeFromDb, limitPeaks, normalizeLoudness } from "./loudness.ts";
import { encodeMuLaw } from "./mu-law.ts";
import { PACKET_BYTES } from "./rtp.ts";
import { fromPcm, SAMPLE_RATE_HZ, sampleCount, toPcm } from "./samples.ts";
import { renderTone } from "./tones.ts";

/** How announcement, tone and recording are combined. */
export interface AudioLayout {
  /** Alert tone that comes first; null for none. */
  tone: string | null;
  /** Silence between two parts. */
  gapMs: number;
  /** How often the whole, tone included, is played; at least 1. */
  repetitions: number;
  /** Silence between two repetitions. */
  repetitionPauseMs: number;
  /** If set, repeats as often as fits into this time instead, at least once. */
  fillMs?: number;
  /** Gain on the reference level; peaks above the ceiling are limited. */
  volumeDb: number;
}

/** The audio of one broadcast, ready to be sent. */
export interface RenderedAudio {
  /** Equal for equal input: the cache key. */
  hash: string;
  /** 8 kHz mono; a whole number of packets. */
  pcm: Int16Array;
  /** The same as G.711 µ-law, in memory shared between threads. */
  payload: Uint8Array;
  /** 0 when nothing is audible. */
  packets: number;
  durationMs: number;
  /** Aborts when the audio ends early: the length of a live page is not known beforehand. */
  closed?: AbortSignal;
  /**
   * The same audio in a codec other than µ-law, encoded once and shared between threads: as many packets, whose bytes
   * may still be arriving while the first of them are sent. Rejects as rendering does. Absent where only µ-law exists.
   */
  rendition?(codec: Codec): Promise<Uint8Array>;
}

/** The payload of rendered audio in a codec. Rejects with UpstreamError when this codec is not available. */
export async function payloadForCodec(renderedAudio: RenderedAudio, codec: Codec): Promise<Uint8Array> {
  if (codec === "PCMU") return renderedAudio.payload;
  if (!renderedAudio.rendition)
    throw new UpstreamError("upstream", sentence("error.the-audio-is-not-available-in-codec", { codec }));
  return renderedAudio.rendition(codec);
}

/** Increment when the same input gives other samples, so that nothing cached before is used. */
const RENDERING_VERSION = 1;
/** Maximum length of one broadcast's audio: one hour. */
const MAX_DURATION_MS = 3_600_000;

/** Cache key: layout, recording and announcement (by the SHA-256 of their files; null for none). */
export function audioHash(
  layout: AudioLayout,
  recordingSha256: string | null,
  announcementSha256: string | null = null,
): string {
  const { tone, gapMs, repetitions, repetitionPauseMs, volumeDb, fillMs } = layout;
  const parts = [RENDERING_VERSION, tone, recordingSha256, gapMs, repetitions, repetitionPauseMs, volumeDb];
  if (fillMs !== undefined) parts.push(fillMs);
  if (announcementSha256 !== null) parts.push(`announced ${announcementSha256}`);
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/**
 * Renders announcement, tone and recording (8 kHz mono, full scale 1; brought to the reference level in place, so the
 * given arrays are overwritten) with gaps between them, repeated with pauses, padded with silence to whole packets.
 * Returns no samples when there is nothing but an announcement. Throws CallerError for an unknown tone (`alertTone`)
 * and for more than an hour of audio (`repetitions`).
 */
export function renderPcm(
  layout: AudioLayout,
  recording: Float32Array | null,
  announcement: Float32Array | null = null,
): Int16Array {
  const { once, pause, repetitions } = planPasses(layout, { recording, announcement }, SAMPLE_RATE_HZ);
  const length = once.length === 0 ? 0 : once.length * repetitions + pause * (repetitions - 1);
  if (length > sampleCount(MAX_DURATION_MS))
    throw invalidValue("repetitions", sentence("field.the-audio-must-not-be-longer-than-one-hour"));
  const renderedAudio = new Int16Array(Math.ceil(length / PACKET_BYTES) * PACKET_BYTES);
  for (let at = 0; at < length; at += once.length + pause) renderedAudio.set(once, at);
  return renderedAudio;
}

/**
 * Encodes rendered audio in another codec, as `packets` packets in memory shared between threads. The inputs have the
 * sample rate of the codec and are overwritten. Yields the same memory after each second of audio, which is written by
 * then.
 */
export function* encodeAudio(
  layout: AudioLayout,
  recording: Float32Array | null,
  { packets, codec, announcement = null }: { packets: number; codec: Codec; announcement?: Float32Array | null },
): Generator<Uint8Array> {
  const { rateHz, silenceByte, createEncoder } = CODECS[codec];
  const { once, pause, repetitions } = planPasses(layout, { recording, announcement }, rateHz);
  const payload = new Uint8Array(new SharedArrayBuffer(packets * PACKET_BYTES)).fill(silenceByte);
  const encode = createEncoder();
  let at = 0;
  for (let n = 0; n < repetitions; n++) {
    for (const sound of [once, new Int16Array(pause)]) {
      for (let from = 0; from < sound.length; from += rateHz) {
        const codes = encode(sound.subarray(from, from + rateHz)).subarray(0, payload.length - at);
        payload.set(codes, at);
        at += codes.length;
        yield payload;
      }
    }
  }
}

/** Decoded input files. */
interface SourceAudio {
  recording: Float32Array | null;
  announcement: Float32Array | null;
}

/** One pass of the audio, the number of passes, and the samples of silence between two. */
function planPasses(
  layout: AudioLayout,
  source: SourceAudio,
  rateHz: number,
): { once: Int16Array; pause: number; repetitions: number } {
  const once = renderPass(layout, source, rateHz);
  const pause = sampleCount(layout.repetitionPauseMs, rateHz);
  const { fillMs } = layout;
  const repetitions =
    fillMs === undefined
      ? layout.repetitions
      : Math.max(1, Math.floor((sampleCount(fillMs, rateHz) + pause) / Math.max(1, once.length + pause)));
  return { once, pause, repetitions };
}

/** The audio as sent: µ-law in shared memory, so that every stream of a broadcast reads the same bytes. */
export function createRenderedAudio(hash: string, pcm: Int16Array): RenderedAudio {
  const payload = encodeMuLaw(pcm, new Uint8Array(new SharedArrayBuffer(pcm.length)));
  const packets = pcm.length / PACKET_BYTES;
  return { hash, pcm, payload, packets, durationMs: (pcm.length * 1000) / SAMPLE_RATE_HZ };
}

function renderPass(layout: AudioLayout, { recording, announcement }: SourceAudio, rateHz: number): Int16Array {
  const tone = fromPcm(layout.tone === null ? new Int16Array(0) : renderTone(layout.tone, rateHz));
  const speech = [announcement ?? NO_SAMPLES, recording ?? NO_SAMPLES] as const;
  for (const clip of speech) normalizeLoudness(clip, rateHz);
  const [announced, spoken] = speech;
  const pass = joinWithGaps(
    tone.length + spoken.length === 0 ? [] : [announced, tone, spoken],
    sampleCount(layout.gapMs, rateHz),
  );
  const gain = amplitudeFromDb(layout.volumeDb);
  if (gain !== 1) for (let i = 0; i < pass.length; i++) pass[i] = (pass[i] as number) * gain;
  limitPeaks(pass, rateHz);
  return toPcm(pass);
}

const NO_SAMPLES = new Float32Array(0);

function joinWithGaps(parts: readonly Float32Array[], gap: number): Float32Array {
  const audible = parts.filter(({ length }) => length > 0);
  const samples = audible.reduce((sum, { length }) => sum + length, 0);
  const whole = new Float32Array(samples + gap * Math.max(0, audible.length - 1));
  let at = 0;
  for (const part of audible) {
    whole.set(part, at);
    at += part.length + gap;
  }
  return whole;
}
