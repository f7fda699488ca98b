import { createFft } from "../../src/media/fft.ts";
import { decodeMuLaw, encodeMuLaw } from "../../src/media/mu-law.ts";
import { SAMPLE_RATE_HZ } from "../../src/media/samples.ts";
import {
  between,
  gaussian,
  type Random,
  randomSound,
  rmsOf,
  type SyntheticSound,
  seededRandom,
  speech,
} from "./synthetic-sounds.ts";

/** A room with a speaker that plays a message, and what the agent's microphone recorded. */
export interface SyntheticRoom {
  seed: number;
  /** False for a dead speaker: the recording holds only the noise of the room. */
  plays: boolean;
  /** Kind and name. */
  sound: string;
  /** Programme to noise, dB, over the programme. */
  snrDb: number;
  reverberationS: number;
  driftPpm: number;
  /** From a sample's hand-over to the player until it reaches the microphone. */
  delayMs: number;
  noises: string[];
  /** As the agent writes them to its player: 8 kHz, with the silence until the end of the stream is found. */
  played: Int16Array;
  recorded: Int16Array;
}

export type RoomChoice = Partial<Pick<SyntheticRoom, "plays" | "snrDb" | "reverberationS" | "driftPpm" | "delayMs">> & {
  sound?: SyntheticSound;
  /** No noise but a steady hiss. */
  isQuiet?: boolean;
};

/** The agent notices the end of a stream so long after its last packet. */
const END_OF_STREAM_S = 2;
const MAX_DRIFT_PPM = 300;

/** Builds the room of a seed; what is chosen replaces what the seed says. */
export function syntheticRoom(seed: number, chosen: RoomChoice = {}): SyntheticRoom {
  const random = seededRandom(seed);
  const sound = chosen.sound ?? randomSound(random);
  const room = {
    seed,
    plays: seed % 2 === 0,
    snrDb: between(random, -10, 20),
    reverberationS: 0.2 * 15 ** random(),
    driftPpm: between(random, -MAX_DRIFT_PPM, MAX_DRIFT_PPM),
    delayMs: between(random, 40, 600),
    ...chosen,
    sound: sound.name,
  };
  const played = withSilence(decodeMuLaw(encodeMuLaw(toPcm(sound.samples, between(random, 0.2, 1)))));
  const source = Float32Array.from(played, (sample) => sample / 32_768);
  const echo = impulseResponse(room.reverberationS, random);
  const direct = drifted(convolve(source, echo), room.driftPpm, (room.delayMs * SAMPLE_RATE_HZ) / 1_000, played.length);
  const { noise, noises } = chosen.isQuiet
    ? { noise: hiss(played.length, 0, random), noises: ["hiss"] }
    : roomNoise(played.length, sound, random);
  const loudness = rmsOf(direct.subarray(0, Math.min(direct.length, sound.samples.length + 4_000)));
  const noiseGain = loudness / rmsOf(noise) / 10 ** (room.snrDb / 20);
  const recorded = direct.map((sample, n) => (room.plays ? sample : 0) + (noise[n] as number) * noiseGain);
  if (!chosen.isQuiet && random() < 0.3) {
    noises.push("door");
    for (let slams = 0; slams < 3; slams++) slamDoor(recorded, loudness + rmsOf(noise) * noiseGain, random);
  }
  // A recording level that leaves some head room, as of an input with automatic gain.
  const gain = between(random, 0.02, 0.2) / rmsOf(recorded);
  return { ...room, noises, played, recorded: toPcm(recorded, gain) };
}

function withSilence(pcm: Int16Array): Int16Array {
  const whole = new Int16Array(pcm.length + END_OF_STREAM_S * SAMPLE_RATE_HZ);
  whole.set(pcm);
  return whole;
}

function toPcm(samples: Float32Array, gain: number): Int16Array {
  return Int16Array.from(samples, (sample) => Math.round(Math.max(-1, Math.min(1, sample * gain)) * 32_767));
}

/**
 * Direct path, first reflections of a shoebox-shaped room, and a tail of exponentially decaying noise.
 * @source Allen and Berkley, Image method for efficiently simulating small-room acoustics, 1979
 */
function impulseResponse(reverberationS: number, random: Random): Float32Array {
  const response = new Float32Array(Math.ceil(reverberationS * SAMPLE_RATE_HZ));
  const size = [between(random, 3, 20), between(random, 3, 15), between(random, 2.5, 6)];
  const speaker = size.map((each) => each * between(random, 0.1, 0.9));
  const microphone = size.map((each) => each * between(random, 0.1, 0.9));
  const [x, y, z] = size as [number, number, number];
  // Sabine: absorption of the walls from volume, surface and reverberation time.
  const absorption = Math.min(0.9, (0.161 * x * y * z) / (2 * (x * y + y * z + x * z) * reverberationS));
  const reflection = Math.sqrt(1 - absorption);
  let nearest = Number.POSITIVE_INFINITY;
  const paths: { distance: number; order: number }[] = [];
  const images = (axis: number, n: number): { at: number; order: number } => {
    const length = size[axis] as number;
    const at = speaker[axis] as number;
    return { at: n % 2 === 0 ? n * length + at : (n + 1) * length - at, order: Math.abs(n) };
  };
  for (let i = -3; i <= 3; i++)
    for (let j = -3; j <= 3; j++)
      for (let k = -3; k <= 3; k++) {
        const image = [images(0, i), images(1, j), images(2, k)];
        const distance = Math.hypot(...image.map(({ at }, axis) => at - (microphone[axis] as number)));
        paths.push({ distance, order: image.reduce((sum, { order }) => sum + order, 0) });
        nearest = Math.min(nearest, distance);
      }
  const metresPerSample = 343 / SAMPLE_RATE_HZ;
  const tailFrom = Math.round(0.03 * SAMPLE_RATE_HZ);
  for (const { distance, order } of paths) {
    const at = Math.round((distance - nearest) / metresPerSample);
    if (at < response.length && at < 2 * tailFrom)
      response[at] = (response[at] as number) + reflection ** order / Math.max(0.5, distance);
  }
  // The tail has the energy of a diffuse field in this room, 1 m from the speaker: direct 1, diffuse 16 pi / A.
  const area = 2 * (x * y + y * z + x * z) * absorption;
  const diffuse = (16 * Math.PI) / Math.max(1, area / (1 - absorption));
  const decay = 6.91 / (reverberationS * SAMPLE_RATE_HZ);
  const gain = Math.sqrt(diffuse * 2 * decay);
  for (let n = tailFrom; n < response.length; n++)
    response[n] = (response[n] as number) + gain * Math.exp(-decay * n) * gaussian(random);
  return response;
}

/** Linear convolution by blocks in the frequency domain. */
function convolve(samples: Float32Array, response: Float32Array): Float32Array {
  let length = 2_048;
  while (length < 2 * response.length) length *= 2;
  const fft = createFft(length);
  const step = length - response.length + 1;
  const [hRe, hIm] = [new Float64Array(length), new Float64Array(length)];
  hRe.set(response);
  fft.forward(hRe, hIm);
  const result = new Float32Array(samples.length + response.length - 1);
  const [re, im] = [new Float64Array(length), new Float64Array(length)];
  for (let from = 0; from < samples.length; from += step) {
    re.fill(0);
    im.fill(0);
    re.set(samples.subarray(from, from + step));
    fft.forward(re, im);
    for (let k = 0; k < length; k++) {
      const [a, b, c, d] = [re[k] as number, im[k] as number, hRe[k] as number, hIm[k] as number];
      re[k] = a * c - b * d;
      im[k] = a * d + b * c;
    }
    fft.inverse(re, im);
    for (let n = 0; n < length && from + n < result.length; n++)
      result[from + n] = (result[from + n] as number) + (re[n] as number);
  }
  return result;
}

/** Windowed sinc: taps for each of these positions between two samples. */
const PHASES = 1_024;
const REACH = 12;
const INTERPOLATION = Float32Array.from({ length: PHASES * 2 * REACH }, (_, n) => {
  const x = Math.floor(n / (2 * REACH)) / PHASES + REACH - 1 - (n % (2 * REACH));
  const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
  return sinc * (0.5 + 0.5 * Math.cos((Math.PI * x) / REACH));
});

/** The same signal by a clock that runs faster by `ppm`, later by `delay` samples. */
function drifted(samples: Float32Array, ppm: number, delay: number, length: number): Float32Array {
  return Float32Array.from({ length }, (_, n) => {
    const at = Math.round((n - delay) * (1 + ppm * 1e-6) * PHASES);
    const first = Math.floor(at / PHASES) - REACH + 1;
    const taps = (at - Math.floor(at / PHASES) * PHASES) * 2 * REACH;
    let sum = 0;
    for (let tap = 0; tap < 2 * REACH; tap++)
      sum += (samples[first + tap] ?? 0) * (INTERPOLATION[taps + tap] as number);
    return sum;
  });
}

function roomNoise(length: number, sound: SyntheticSound, random: Random): { noise: Float32Array; noises: string[] } {
  const noise = new Float32Array(length);
  const noises = ["hiss"];
  addScaled(noise, hiss(length, between(random, 0, 0.95), random), 1);
  if (random() < 0.5) {
    let other = randomSound(random);
    // The same tone at a possible delay can't be told from this speaker. @source docs/decisions/0420-matched-filter.md
    while (other.name === sound.name || (other.tone !== null && other.tone === sound.tone)) other = randomSound(random);
    noises.push(`other programme (${other.name})`);
    addScaled(noise, heardElsewhere(other.samples, length, random), between(random, 0.3, 4));
  }
  if (random() < 0.4) {
    noises.push("talk");
    addScaled(noise, heardElsewhere(speech(length / SAMPLE_RATE_HZ, random), length, random), between(random, 0.3, 4));
  }
  return { noise, noises };
}

/** White noise, or noise with more of the low frequencies. */
function hiss(length: number, pole: number, random: Random): Float32Array {
  let state = 0;
  return Float32Array.from({ length }, () => {
    state = pole * state + gaussian(random);
    return state;
  });
}

/** Repeated, begun some time before or after, through another room, by another clock. */
function heardElsewhere(samples: Float32Array, length: number, random: Random): Float32Array {
  const pause = Math.round(between(random, 0.3, 3) * SAMPLE_RATE_HZ);
  const period = samples.length + pause;
  const offset = Math.round(between(random, -1, 1) * period);
  const repeated = Float32Array.from({ length }, (_, n) => samples[(((n + offset) % period) + period) % period] ?? 0);
  const echo = impulseResponse(between(random, 0.2, 1.5), random);
  return drifted(convolve(repeated, echo), between(random, -MAX_DRIFT_PPM, MAX_DRIFT_PPM), 0, length);
}

/** Adds at a ratio to unit RMS. */
function addScaled(sum: Float32Array, part: Float32Array, ratio: number): void {
  const rms = rmsOf(part);
  if (rms > 0) for (let n = 0; n < sum.length; n++) sum[n] = (sum[n] as number) + ((part[n] as number) / rms) * ratio;
}

/** A bang and its decay, ten to thirty times as loud as the room. */
function slamDoor(samples: Float32Array, level: number, random: Random): void {
  const start = Math.floor(random() * samples.length);
  const loudness = level * between(random, 10, 30);
  const decay = between(random, 15, 60) / SAMPLE_RATE_HZ;
  for (let n = 0; start + n < samples.length && n < SAMPLE_RATE_HZ / 2; n++)
    samples[start + n] = (samples[start + n] as number) + loudness * Math.exp(-decay * n) * gaussian(random);
}
