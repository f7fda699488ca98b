import { SAMPLE_RATE_HZ } from "../../src/media/samples.ts";
import { ALERT_TONES, renderTone } from "../../src/media/tones.ts";

/** Seeded random numbers in [0, 1). */
export type Random = () => number;

/** Kinds of audio that an appliance sends. */
export const SOUND_KINDS = ["alert tone", "beep", "speech", "tone and speech", "music"] as const;
export type SoundKind = (typeof SOUND_KINDS)[number];

export interface SyntheticSound {
  kind: SoundKind;
  /** Equal names are equal sounds. */
  name: string;
  /** The alert tone in it; null if there is none. */
  tone: string | null;
  /** 8 kHz, full scale 1. */
  samples: Float32Array;
}

/** xorshift32. @source G. Marsaglia, Xorshift RNGs, 2003 */
export function seededRandom(seed: number): Random {
  let state = (Math.imul(seed + 1, 0x9e3779b1) ^ 0x5bf03635) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

export function between(random: Random, least: number, most: number): number {
  return least + (most - least) * random();
}

function oneOf<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)] as T;
}

/** Standard normal numbers. */
export function gaussian(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}

/** A sound of a random kind, -16 dBFS. */
export function randomSound(random: Random): SyntheticSound {
  const kind = oneOf(random, SOUND_KINDS);
  const tone = kind === "alert tone" || kind === "tone and speech" ? oneOf(random, AUDIBLE_TONES) : null;
  const name = tone ?? String(random());
  return { kind, tone, name: `${kind} ${name}`, samples: atLevel(samplesOf(kind, name, random), -16) };
}

const AUDIBLE_TONES = ALERT_TONES.filter((name) => name !== "silent");

function samplesOf(kind: SoundKind, name: string, random: Random): Float32Array {
  if (kind === "speech") return speech(between(random, 2, 8), random);
  if (kind === "music") return music(between(random, 3, 8), random);
  if (kind === "beep") return beep(random);
  const tone = Float32Array.from(renderTone(name), (sample) => sample / 32_768);
  if (kind === "alert tone") return tone;
  // The appliance sends both equally loud. @source docs/decisions/0700-audio-processing.md, Levels
  return joined(tone, atLevel(speech(between(random, 2, 5), random), -16));
}

function joined(...parts: Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** One or two pure tones of half a second or more. */
function beep(random: Random): Float32Array {
  const hz = between(random, 400, 3_000);
  const one = sine(hz, between(random, 0.5, 1.5));
  return random() < 0.5 ? one : joined(one, new Float32Array(1_600), one);
}

function sine(hz: number, seconds: number): Float32Array {
  const length = Math.round(seconds * SAMPLE_RATE_HZ);
  return Float32Array.from(
    { length },
    (_, n) => Math.sin((2 * Math.PI * hz * n) / SAMPLE_RATE_HZ) * Math.min(1, n / 64, (length - n) / 64),
  );
}

/** Notes with harmonics on a scale, sometimes two at once. */
function music(seconds: number, random: Random): Float32Array {
  const samples = new Float32Array(Math.round(seconds * SAMPLE_RATE_HZ));
  const voices = random() < 0.5 ? 1 : 2;
  for (let voice = 0; voice < voices; voice++) {
    for (let at = 0; at < samples.length; ) {
      const length = Math.round(oneOf(random, [0.25, 0.375, 0.5, 0.75]) * SAMPLE_RATE_HZ);
      const hz = 220 * 2 ** (oneOf(random, [0, 2, 4, 5, 7, 9, 11, 12, 14, 16]) / 12 + voice);
      for (let n = 0; n < length && at + n < samples.length; n++) {
        const decay = Math.exp((-3 * n) / length);
        for (let harmonic = 1; harmonic <= 5 && hz * harmonic < 3_600; harmonic++)
          samples[at + n] =
            (samples[at + n] as number) +
            (decay / harmonic) * Math.sin((2 * Math.PI * hz * harmonic * n) / SAMPLE_RATE_HZ);
      }
      at += length;
    }
  }
  return samples;
}

/** Formants of vowels, Hz. @source Peterson and Barney, Control Methods Used in a Study of the Vowels, 1952 */
const VOWELS = [
  [270, 2_290, 3_010],
  [390, 1_990, 2_550],
  [530, 1_840, 2_480],
  [660, 1_720, 2_410],
  [730, 1_090, 2_440],
  [570, 840, 2_410],
  [440, 1_020, 2_240],
  [300, 870, 2_240],
] as const;

/** Syllables of a buzz or of noise through gliding formants, with pauses: the spectrum and rhythm of speech. */
export function speech(seconds: number, random: Random): Float32Array {
  const samples = new Float32Array(Math.round(seconds * SAMPLE_RATE_HZ));
  const pitch = between(random, 90, 240);
  const state = new Float64Array(6);
  let from = oneOf(random, VOWELS);
  let phase = 0;
  for (let at = 0; at < samples.length; ) {
    if (random() < 0.1) at += Math.round(between(random, 0.1, 0.4) * SAMPLE_RATE_HZ);
    const to = oneOf(random, VOWELS);
    const consonant = Math.round(between(random, 0.03, 0.09) * SAMPLE_RATE_HZ);
    const length = consonant + Math.round(between(random, 0.09, 0.22) * SAMPLE_RATE_HZ);
    const bend = between(random, -0.2, 0.2);
    for (let n = 0; n < length && at + n < samples.length; n++) {
      const share = n / length;
      phase += (pitch * (1 + bend * share)) / SAMPLE_RATE_HZ;
      const isNewPulse = phase >= 1;
      phase %= 1;
      const isVoiced = n >= consonant;
      const source = isVoiced ? (isNewPulse ? 8 : 0) + 0.05 * gaussian(random) : 0.6 * gaussian(random);
      const envelope = isVoiced ? Math.sin(Math.PI * Math.min(1, (length - n) / (length - consonant))) + 0.2 : 0.5;
      let sample = source * envelope;
      for (let formant = 0; formant < 3; formant++)
        sample = resonate(
          sample,
          state,
          formant,
          (from[formant] as number) * (1 - share) + (to[formant] as number) * share,
        );
      samples[at + n] = sample;
    }
    at += length;
    from = to;
  }
  return samples;
}

/** Second-order resonator of 90 Hz bandwidth, mixed with its input so that the formants are in parallel and in series. */
function resonate(sample: number, state: Float64Array, formant: number, hz: number): number {
  const radius = Math.exp((-Math.PI * 90) / SAMPLE_RATE_HZ);
  const [before, earlier] = [state[2 * formant] as number, state[2 * formant + 1] as number];
  const out =
    (1 - radius) * sample + 2 * radius * Math.cos((2 * Math.PI * hz) / SAMPLE_RATE_HZ) * before - radius ** 2 * earlier;
  state[2 * formant + 1] = before;
  state[2 * formant] = out;
  return out * 0.8 + sample * 0.1;
}

/** Scales to an RMS in dB below full scale; peaks are clipped at full scale. */
function atLevel(samples: Float32Array, dbfs: number): Float32Array {
  const rms = rmsOf(samples);
  const gain = rms === 0 ? 0 : 10 ** (dbfs / 20) / rms;
  return samples.map((sample) => Math.max(-1, Math.min(1, sample * gain)));
}

export function rmsOf(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / Math.max(1, samples.length));
}
