import { createHash } from "node:crypto";
import { invalidValue, UpstreamError } from "../lib/errors.ts";
import { CODECS, type Codec } from "./codecs.ts";
import { amplitudeFromDb, limitPeaks, normalizeLoudness } from "./loudness.ts";
import { encodeMuLaw } from "./mu-law.ts";
import { PACKET_BYTES } from "./rtp.ts";
import { fromPcm, SAMPLE_RATE_HZ, sampleCount, toPcm } from "./samples.ts";
import { renderTone } from "./tones.ts";

/** How what is announced, tone and recording are put together. */
export interface AudioLayout {
  /** Alert tone that comes first; null for none. */
  tone: string | null;
  /** Silence between two of them, only where there are both. */
  gapMs: number;
  /** How often the whole, tone included, is heard; at least 1. */
  repetitions: number;
  /** Silence between two repetitions. */
  repetitionPauseMs: number;
  /** Repeated as often as fits into this time instead, at least once. */
  fillMs?: number;
  /** Added to the reference level; what would exceed the ceiling is limited. */
  volumeDb: number;
}

/** Everything that is audible of one broadcast, ready to be sent. */
export interface RenderedAudio {
  /** Equal for equal input: the key under which the programme is remembered. */
  hash: string;
  /** 8 kHz mono; a whole number of packets. */
  pcm: Int16Array;
  /** The same as G.711 µ-law, in memory that threads share. */
  payload: Uint8Array;
  /** 0 when nothing is audible. */
  packets: number;
  durationMs: number;
  /** It may end before its length, when this aborts: nobody knows beforehand how long somebody will speak. */
  closed?: AbortSignal;
  /**
   * The same in a codec other than µ-law, made once however often it is asked for, in memory that threads share: as many
   * packets, whose bytes may come in while the first of them are being sent. Rejects as the making of a programme does.
   * Absent where there is µ-law alone.
   */
  rendition?(codec: Codec): Promise<Uint8Array>;
}

/** What is sent of a programme in a codec. Rejects with UpstreamError where it is not there in this one. */
export async function payloadForCodec(programme: RenderedAudio, codec: Codec): Promise<Uint8Array> {
  if (codec === "PCMU") return programme.payload;
  if (!programme.rendition) throw new UpstreamError("upstream", `The sound is not there as ${codec}.`);
  return programme.rendition(codec);
}

/** Bump when the same input gives other samples, so that nothing remembered from before is used. */
const RENDERING_VERSION = 1;
/** own choice: an hour of sound is as much as one broadcast may hold */
const MAX_DURATION_MS = 3_600_000;

/** Key of a programme: layout, recording and announcement (by the SHA-256 of their files; null for none) decide it. */
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
 * What is announced, tone, recording (8 kHz mono, full scale 1; brought to the reference level, the arrays given are used
 * up), with gaps between them, repeated with pauses, padded with silence to whole packets; no samples when nothing but what
 * announces it is audible. Throws CallerError for a tone not made (`alertTone`) and for more than an hour of sound
 * (`repetitions`).
 */
export function renderPcm(
  layout: AudioLayout,
  recording: Float32Array | null,
  announcement: Float32Array | null = null,
): Int16Array {
  const { once, pause, repetitions } = planPasses(layout, { recording, announcement }, SAMPLE_RATE_HZ);
  const length = once.length === 0 ? 0 : once.length * repetitions + pause * (repetitions - 1);
  if (length > sampleCount(MAX_DURATION_MS))
    throw invalidValue("repetitions", "The broadcast would be longer than an hour.");
  const programme = new Int16Array(Math.ceil(length / PACKET_BYTES) * PACKET_BYTES);
  for (let at = 0; at < length; at += once.length + pause) programme.set(once, at);
  return programme;
}

/**
 * A programme that buildProgramme has made, once more in a codec, as `packets` packets in memory that threads share. What
 * is played has the rate of the codec, and is used up. Gives the same memory after each second of sound, which by then is in it.
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

/** What files hold of a programme. */
interface SourceAudio {
  recording: Float32Array | null;
  announcement: Float32Array | null;
}

/** One pass of the programme, how often it is heard, and the samples of silence between two. */
function planPasses(
  layout: AudioLayout,
  played: SourceAudio,
  rateHz: number,
): { once: Int16Array; pause: number; repetitions: number } {
  const once = renderPass(layout, played, rateHz);
  const pause = sampleCount(layout.repetitionPauseMs, rateHz);
  const { fillMs } = layout;
  const repetitions =
    fillMs === undefined
      ? layout.repetitions
      : Math.max(1, Math.floor((sampleCount(fillMs, rateHz) + pause) / Math.max(1, once.length + pause)));
  return { once, pause, repetitions };
}

/** The programme as it goes on the wire: µ-law in shared memory, so that every stream of a broadcast reads the same bytes. */
export function createRenderedAudio(hash: string, pcm: Int16Array): RenderedAudio {
  const payload = encodeMuLaw(pcm, new Uint8Array(new SharedArrayBuffer(pcm.length)));
  const packets = pcm.length / PACKET_BYTES;
  return { hash, pcm, payload, packets, durationMs: (pcm.length * 1000) / SAMPLE_RATE_HZ };
}

function renderPass(layout: AudioLayout, { recording, announcement }: SourceAudio, rateHz: number): Int16Array {
  const tone = fromPcm(layout.tone === null ? new Int16Array(0) : renderTone(layout.tone, rateHz));
  const said = [announcement ?? NO_SAMPLES, recording ?? NO_SAMPLES] as const;
  for (const words of said) normalizeLoudness(words, rateHz);
  const [announced, spoken] = said;
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
  const heard = parts.filter(({ length }) => length > 0);
  const samples = heard.reduce((sum, { length }) => sum + length, 0);
  const whole = new Float32Array(samples + gap * Math.max(0, heard.length - 1));
  let at = 0;
  for (const part of heard) {
    whole.set(part, at);
    at += part.length + gap;
  }
  return whole;
}
