/** What listening to the other side has shown so far. */
export type CallProgressResult = "person" | "machine" | "machine-ready";

/** Listens whether a machine has answered. */
export interface AnsweringMachineDetector {
  /** 20 ms of sound as 16-bit samples at 8 kHz, in order. */
  analyze(samples: Int16Array): CallProgressResult;
}

const FRAME_MS = 20;
/** Louder than this is a voice or a tone; about -36 dBFS. */
const LOUD_LEVEL = 500;
/** People say less than this before they wait for an answer. own choice: long enough for a company's name */
const MAX_PERSON_GREETING_MS = 4_500;
/** A pause that ends a greeting, which is longer than between words. own choice */
const GREETING_END_PAUSE_MS = 1_200;
/** Shorter than the shortest beep that machines were met with. own choice */
const MIN_BEEP_MS = 200;
/** Crossings of a beep's frames differ by no more, and its loudness stays within this share. */
const MAX_CROSSINGS_DIFFERENCE = 2;
const LOUDNESS_SHARE = 0.7;
/** 400 to 2,400 Hz. */
const [LEAST_CROSSINGS, MOST_CROSSINGS] = [14, 98];

/**
 * Makes the ear of one call. A machine talks longer than people who pick up, or beeps; `machine-ready` comes with its beep,
 * or with the pause after its greeting: then it records. It is a guess, and decides nothing but when the message begins.
 */
export function createAnsweringMachineDetector(): AnsweringMachineDetector {
  let talkedMs = 0;
  let pauseMs = 0;
  let beepMs = 0;
  let last: AudioFrame = { loudness: 0, crossings: 0 };
  let heard: CallProgressResult = "person";

  return {
    analyze(samples) {
      const frame = measureFrame(samples);
      const isLoud = frame.loudness > LOUD_LEVEL;
      beepMs = isLoud && isSameTone(frame, last) ? beepMs + FRAME_MS : 0;
      last = frame;
      pauseMs = isLoud ? 0 : pauseMs + FRAME_MS;
      if (isLoud) talkedMs += FRAME_MS;
      else if (pauseMs > GREETING_END_PAUSE_MS && heard === "person") talkedMs = 0;
      if (heard === "person" && talkedMs > MAX_PERSON_GREETING_MS) heard = "machine";
      if (beepMs >= MIN_BEEP_MS) heard = "machine-ready";
      if (heard === "machine" && pauseMs > GREETING_END_PAUSE_MS) heard = "machine-ready";
      return heard;
    },
  };
}

interface AudioFrame {
  /** Mean magnitude. */
  loudness: number;
  /** How often the sign changes: twice the frequency. */
  crossings: number;
}

function measureFrame(samples: Int16Array): AudioFrame {
  let sum = 0;
  let crossings = 0;
  let before = 0;
  for (const sample of samples) {
    sum += Math.abs(sample);
    if (sample < 0 !== before < 0) crossings++;
    before = sample;
  }
  return { loudness: sum / Math.max(1, samples.length), crossings };
}

/** Voices change from frame to frame, tones don't. */
function isSameTone(frame: AudioFrame, last: AudioFrame): boolean {
  const [quiet, loud] = [Math.min(frame.loudness, last.loudness), Math.max(frame.loudness, last.loudness)];
  return (
    frame.crossings >= LEAST_CROSSINGS &&
    frame.crossings <= MOST_CROSSINGS &&
    Math.abs(frame.crossings - last.crossings) <= MAX_CROSSINGS_DIFFERENCE &&
    quiet >= loud * LOUDNESS_SHARE
  );
}
