/** What listening to the other side has shown so far. */
export type Heard = "person" | "machine" | "machine-ready";

/** Listens whether a machine has answered. */
export interface Greeting {
  /** 20 ms of sound as 16-bit samples at 8 kHz, in order. */
  push(samples: Int16Array): Heard;
}

const FRAME_MS = 20;
/** Louder than this is a voice or a tone; about -36 dBFS. */
const LOUD = 500;
/** People say less than this before they wait for an answer. own choice: long enough for a company's name */
const LONGEST_HELLO_MS = 4_500;
/** A pause that ends a greeting, which is longer than between words. own choice */
const PAUSE_MS = 1_200;
/** Shorter than the shortest beep that machines were met with. own choice */
const LEAST_BEEP_MS = 200;
/** Crossings of a beep's frames differ by no more, and its loudness stays within this share. */
const MOST_CROSSINGS_APART = 2;
const LOUDNESS_SHARE = 0.7;
/** 400 to 2,400 Hz. */
const [LEAST_CROSSINGS, MOST_CROSSINGS] = [14, 98];

/**
 * Makes the ear of one call. A machine talks longer than people who pick up, or beeps; `machine-ready` comes with its beep,
 * or with the pause after its greeting: then it records. It is a guess, and decides nothing but when the message begins.
 */
export function createGreeting(): Greeting {
  let talkedMs = 0;
  let pauseMs = 0;
  let beepMs = 0;
  let last: Frame = { loudness: 0, crossings: 0 };
  let heard: Heard = "person";

  return {
    push(samples) {
      const frame = measure(samples);
      const isLoud = frame.loudness > LOUD;
      beepMs = isLoud && isSameTone(frame, last) ? beepMs + FRAME_MS : 0;
      last = frame;
      pauseMs = isLoud ? 0 : pauseMs + FRAME_MS;
      if (isLoud) talkedMs += FRAME_MS;
      else if (pauseMs > PAUSE_MS && heard === "person") talkedMs = 0;
      if (heard === "person" && talkedMs > LONGEST_HELLO_MS) heard = "machine";
      if (beepMs >= LEAST_BEEP_MS) heard = "machine-ready";
      if (heard === "machine" && pauseMs > PAUSE_MS) heard = "machine-ready";
      return heard;
    },
  };
}

interface Frame {
  /** Mean magnitude. */
  loudness: number;
  /** How often the sign changes: twice the frequency. */
  crossings: number;
}

function measure(samples: Int16Array): Frame {
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
function isSameTone(frame: Frame, last: Frame): boolean {
  const [quiet, loud] = [Math.min(frame.loudness, last.loudness), Math.max(frame.loudness, last.loudness)];
  return (
    frame.crossings >= LEAST_CROSSINGS &&
    frame.crossings <= MOST_CROSSINGS &&
    Math.abs(frame.crossings - last.crossings) <= MOST_CROSSINGS_APART &&
    quiet >= loud * LOUDNESS_SHARE
  );
}
