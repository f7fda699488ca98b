import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { amplitudeFromDb, REFERENCE_DBFS } from "./loudness.ts";
import { SAMPLE_RATE_HZ, sampleCount, toPcm } from "./samples.ts";
import { TONE_SEGMENTS, type ToneSegment } from "./tone-segments.ts";

const EDGE_MS = 8;
const STRUCK_DECAY_DB = 16;

/** Names of the playable alert tones, sorted; includes `silent`. Any other name is rejected. */
export const ALERT_TONES: readonly string[] = Object.keys(TONE_SEGMENTS).sort();

/** The segments of a tone; empty for `silent`. Throws CallerError (`alertTone`) for an unknown tone. */
export function toneSegments(name: string): readonly ToneSegment[] {
  const segments = Object.hasOwn(TONE_SEGMENTS, name) ? TONE_SEGMENTS[name] : undefined;
  if (!segments)
    throw invalidValue("alertTone", sentence("field.must-be-one-of-values", { values: ALERT_TONES.join(", ") }));
  return segments;
}

/**
 * A tone as samples (8 kHz by default), every audible segment at the reference level; no samples for `silent`. Throws
 * CallerError (`alertTone`) for an unknown tone.
 */
export function renderTone(name: string, rateHz = SAMPLE_RATE_HZ): Int16Array {
  return renderSegments(toneSegments(name), rateHz);
}

/** Consecutive segments as samples, every audible one at the reference level. */
export function renderSegments(segments: readonly ToneSegment[], rateHz = SAMPLE_RATE_HZ): Int16Array {
  const parts = segments.map((segment) => renderSegment(segment, rateHz));
  const whole = new Float32Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return toPcm(whole);
}

/** Frequencies have amplitudes 1, 1/2, 1/3 …, so that the first one determines the perceived pitch. */
function renderSegment(segment: ToneSegment, rateHz: number): Float32Array {
  const samples = new Float32Array(sampleCount(segment.durationMs, rateHz));
  const seconds = segment.durationMs / 1000;
  segment.frequenciesHz.forEach((fromHz, index) => {
    const slope = ((segment.glideToHz?.[index] ?? fromHz) - fromHz) / (2 * seconds);
    for (let i = 0; i < samples.length; i++) {
      const t = i / rateHz;
      samples[i] = (samples[i] as number) + Math.sin(2 * Math.PI * (fromHz + slope * t) * t) / (index + 1);
    }
  });
  const edge = sampleCount(EDGE_MS, rateHz);
  for (let i = 0; i < samples.length; i++)
    samples[i] = (samples[i] as number) * envelopeAt(segment, i, samples.length, edge);
  return atReferenceLevel(samples);
}

/** Short raised-cosine edges, because a sudden start or end clicks. */
function envelopeAt(segment: ToneSegment, index: number, length: number, edge: number): number {
  const nearest = Math.min(index, length - 1 - index, edge) / edge;
  const decay = segment.envelope === "struck" ? amplitudeFromDb((-STRUCK_DECAY_DB * index) / length) : 1;
  return decay * (0.5 - 0.5 * Math.cos(Math.PI * nearest));
}

function atReferenceLevel(samples: Float32Array): Float32Array {
  const rms = Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
  return rms === 0 ? samples : samples.map((sample) => (sample * amplitudeFromDb(REFERENCE_DBFS)) / rms);
}
