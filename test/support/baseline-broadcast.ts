import { expect } from "vitest";
import { decodeWithFfmpeg } from "./ffmpeg-listener.ts";
import { db, locateSound, rms, strongestPitch } from "./signal-analysis.ts";
import { sampleBytes, wavFile } from "./wav-file.ts";

/** The alert tone of the known broadcast, and what it must sound like: pitches in order, each with its length. */
export const BASELINE_TONE = "class-change1";
const BASELINE_PITCHES = [
  [660, 300],
  [550, 300],
  [660, 300],
  [880, 700],
] as const;
const OTHER_PITCHES = [330, 440, 494, 587, 620, 740, 784, 988, 1047, 1320];

/** RMS of what sounds, and by how much it may be missed. */
const LEVEL_DB = -16;
const LEVEL_TOLERANCE_DB = 1.5;
const MIN_CORRELATION = 0.99;
const RATE_HZ = 44_100;
const SYLLABLES = 12;

const ms = (from: number, to: number): [number, number] => [from * 8, to * 8];

/** A recording like speech, 3 s at 44.1 kHz in stereo, far softer than what is to be heard: no two syllables are equal. */
export function baselineRecording(): Buffer {
  const samples = new Float32Array(3 * RATE_HZ);
  const length = samples.length / SYLLABLES;
  let phase = 0;
  for (let i = 0; i < samples.length; i++) {
    const syllable = Math.floor(i / length);
    const within = (i % length) / length;
    const base = 110 + ((syllable * 37) % 90) + 25 * within;
    const formant = 500 + ((syllable * 613) % 1900);
    phase += (2 * Math.PI * base) / RATE_HZ;
    let value = 0;
    for (let harmonic = 1; harmonic <= 14; harmonic++) {
      const hz = harmonic * base;
      const weight = 1 / (1 + ((hz - formant) / 300) ** 2) + 0.3 / harmonic;
      value += weight * Math.sin(harmonic * phase + harmonic ** 2);
    }
    samples[i] = 0.01 * value * Math.sin(Math.PI * within) ** 2;
  }
  return wavFile({ rateHz: RATE_HZ, channels: 2, bits: 16 }, sampleBytes(samples, 16, false, samples));
}

/**
 * Fails unless `heard` (8 kHz mono, full scale 1) is the known tone, half a second of silence, and `recording` at the
 * same level, with nothing before and nothing after. The recording's source is decoded by ffmpeg, not by the product.
 */
export async function expectBaselineBroadcast(heard: Float32Array, recording: Buffer): Promise<void> {
  const cut = ([from, to]: [number, number]): Float32Array => heard.subarray(from, to);
  let at = 0;
  const pitches = [...new Set([...BASELINE_PITCHES.map(([hz]) => hz), ...OTHER_PITCHES])];
  const melody = BASELINE_PITCHES.map(([, lengthMs]) => {
    const piece = cut(ms(at + 40, at + lengthMs - 40));
    at += lengthMs;
    return strongestPitch(piece, pitches);
  });
  expect(melody).toEqual(BASELINE_PITCHES.map(([hz]) => hz));
  expect(Math.abs(db(rms(cut(ms(0, at)))) - LEVEL_DB)).toBeLessThan(LEVEL_TOLERANCE_DB);
  expect(db(rms(cut(ms(at + 20, at + 480))))).toBeLessThan(-60);

  const source = await decodeWithFfmpeg(recording);
  const place = locateSound(heard, source, (at + 450) * 8, (at + 550) * 8);
  expect(place.correlation).toBeGreaterThanOrEqual(MIN_CORRELATION);
  expect(Math.abs(place.at / 8 - (at + 500))).toBeLessThan(2);
  const spoken = heard.subarray(place.at, place.at + source.length);
  expect(Math.abs(db(rms(spoken)) - LEVEL_DB)).toBeLessThan(2 * LEVEL_TOLERANCE_DB);
  // The last packet is filled up with silence.
  expect(heard.length - place.at - source.length).toBeLessThan(160 + 16);
}
