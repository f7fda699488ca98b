import { createHash } from "node:crypto";
import { invalidValue } from "../base/errors.ts";
import { amplitude, limitPeaks, normalise } from "./loudness.ts";
import { encodeMuLaw } from "./mulaw.ts";
import { PACKET_BYTES } from "./rtp.ts";
import { fromPcm, SAMPLE_RATE_HZ, samplesFor, toPcm } from "./samples.ts";
import { renderTone } from "./tones.ts";

/** How tone and recording are put together. */
export interface ProgrammeLayout {
  /** Alert tone that comes first; null for none. */
  tone: string | null;
  /** Silence between tone and recording, only where there are both. */
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
export interface Programme {
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
}

/** Bump when the same input gives other samples, so that nothing remembered from before is used. */
const RENDERING = 1;
/** own choice: an hour of sound is as much as one broadcast may hold */
const MOST_DURATION_MS = 3_600_000;

/** Key of a programme: layout and recording (by the SHA-256 of its file; null for none) decide it. */
export function programmeHash(layout: ProgrammeLayout, recordingSha256: string | null): string {
  const { tone, gapMs, repetitions, repetitionPauseMs, volumeDb, fillMs } = layout;
  const parts = [RENDERING, tone, recordingSha256, gapMs, repetitions, repetitionPauseMs, volumeDb];
  if (fillMs !== undefined) parts.push(fillMs);
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/**
 * Tone, gap, then the recording (8 kHz mono, full scale 1; brought to the reference level, the array given is used up), repeated with pauses,
 * padded with silence to whole packets; no samples when nothing is audible.
 * Throws CallerError for a tone not made (`alertTone`) and for more than an hour of sound (`repetitions`).
 */
export function buildProgramme(layout: ProgrammeLayout, recording: Float32Array | null): Int16Array {
  const once = onePass(layout, recording);
  const pause = samplesFor(layout.repetitionPauseMs);
  const repetitions =
    layout.fillMs === undefined
      ? layout.repetitions
      : Math.max(1, Math.floor((samplesFor(layout.fillMs) + pause) / Math.max(1, once.length + pause)));
  const length = once.length === 0 ? 0 : once.length * repetitions + pause * (repetitions - 1);
  if (length > samplesFor(MOST_DURATION_MS))
    throw invalidValue("repetitions", "The broadcast would be longer than an hour.");
  const programme = new Int16Array(Math.ceil(length / PACKET_BYTES) * PACKET_BYTES);
  for (let at = 0; at < length; at += once.length + pause) programme.set(once, at);
  return programme;
}

/** The programme as it goes on the wire: µ-law in shared memory, so that every stream of a broadcast reads the same bytes. */
export function finishProgramme(hash: string, pcm: Int16Array): Programme {
  const payload = encodeMuLaw(pcm, new Uint8Array(new SharedArrayBuffer(pcm.length)));
  const packets = pcm.length / PACKET_BYTES;
  return { hash, pcm, payload, packets, durationMs: (pcm.length * 1000) / SAMPLE_RATE_HZ };
}

function onePass(layout: ProgrammeLayout, recording: Float32Array | null): Int16Array {
  const tone = fromPcm(layout.tone === null ? new Int16Array(0) : renderTone(layout.tone));
  const spoken = recording ?? new Float32Array(0);
  normalise(spoken);
  const gap = tone.length > 0 && spoken.length > 0 ? samplesFor(layout.gapMs) : 0;
  const pass = new Float32Array(tone.length + gap + spoken.length);
  pass.set(tone);
  pass.set(spoken, tone.length + gap);
  const gain = amplitude(layout.volumeDb);
  if (gain !== 1) for (let i = 0; i < pass.length; i++) pass[i] = (pass[i] as number) * gain;
  limitPeaks(pass);
  return toPcm(pass);
}
