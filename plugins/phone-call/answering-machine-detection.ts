/** Result of answering machine detection so far. */
export type CallProgressResult = "person" | "machine" | "machine-ready";

/** Answering machine detection of one call. */
export interface AnsweringMachineDetector {
  /** Analyzes the next 20 ms: 16-bit samples at 8 kHz. */
  analyze(samples: Int16Array): CallProgressResult;
}

const FRAME_MS = 20;
/** Threshold of voice and tones, about -36 dBFS. */
const LOUD_LEVEL = 500;
/** People talk less than this before they wait for an answer, even with a company name. */
const MAX_PERSON_GREETING_MS = 4_500;
/** Pause that ends a greeting, longer than pauses between words. */
const GREETING_END_PAUSE_MS = 1_200;
/** Shorter than the shortest beep observed. */
const MIN_BEEP_MS = 200;
/** Tolerance of zero crossings and of loudness between frames of one tone. */
const MAX_CROSSINGS_DIFFERENCE = 2;
const LOUDNESS_SHARE = 0.7;
/** 400 to 2,400 Hz. */
const [MIN_CROSSINGS, MAX_CROSSINGS] = [14, 98];

/**
 * Creates the detector of one call. A machine talks longer than a person, or beeps; `machine-ready` follows its beep,
 * or the pause after its greeting, when it records. The result is a guess and only decides when the message starts.
 */
export function createAnsweringMachineDetector(): AnsweringMachineDetector {
  let talkedMs = 0;
  let pauseMs = 0;
  let beepMs = 0;
  let last: AudioFrame = { loudness: 0, crossings: 0 };
  let result: CallProgressResult = "person";

  return {
    analyze(samples) {
      const frame = measureFrame(samples);
      const isLoud = frame.loudness > LOUD_LEVEL;
      beepMs = isLoud && isSameTone(frame, last) ? beepMs + FRAME_MS : 0;
      last = frame;
      pauseMs = isLoud ? 0 : pauseMs + FRAME_MS;
      if (isLoud) talkedMs += FRAME_MS;
      else if (pauseMs > GREETING_END_PAUSE_MS && result === "person") talkedMs = 0;
      if (result === "person" && talkedMs > MAX_PERSON_GREETING_MS) result = "machine";
      if (beepMs >= MIN_BEEP_MS) result = "machine-ready";
      if (result === "machine" && pauseMs > GREETING_END_PAUSE_MS) result = "machine-ready";
      return result;
    },
  };
}

interface AudioFrame {
  loudness: number;
  /** Zero crossings: twice the frequency. */
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

/** Tones are stable from frame to frame, voices are not. */
function isSameTone(frame: AudioFrame, last: AudioFrame): boolean {
  const [quiet, loud] = [Math.min(frame.loudness, last.loudness), Math.max(frame.loudness, last.loudness)];
  return (
    frame.crossings >= MIN_CROSSINGS &&
    frame.crossings <= MAX_CROSSINGS &&
    Math.abs(frame.crossings - last.crossings) <= MAX_CROSSINGS_DIFFERENCE &&
    quiet >= loud * LOUDNESS_SHARE
  );
}
