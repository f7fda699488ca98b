/** A stretch of an alert tone in which the same pitches sound. */
export interface ToneSegment {
  /** Pitches sounding together, the first one strongest; empty for silence. Hz, within 300..3400. */
  readonly frequenciesHz: readonly number[];
  /** Where each pitch has arrived at the end when it glides; as long as frequenciesHz. */
  readonly glideToHz?: readonly number[];
  readonly durationMs: number;
  /** `steady`: level; `struck`: at once loud, then dying away like a bell. */
  readonly envelope: "steady" | "struck";
}

const note = (hz: number | readonly number[], durationMs: number): ToneSegment => ({
  frequenciesHz: typeof hz === "number" ? [hz] : hz,
  durationMs,
  envelope: "steady",
});

const strike = (hz: number | readonly number[], durationMs: number): ToneSegment => ({
  ...note(hz, durationMs),
  envelope: "struck",
});

const glide = (fromHz: number, toHz: number, durationMs: number): ToneSegment => ({
  ...note(fromHz, durationMs),
  glideToHz: [toHz],
});

const rest = (durationMs: number): ToneSegment => note([], durationMs);

const times = (count: number, ...segments: ToneSegment[]): ToneSegment[] => Array(count).fill(segments).flat();

/** A low square-like signal wakes sleepers best. @source NFPA 72 §18.4.6 (520 Hz); harmonics own choice */
const FIRE_HZ = [520, 1560, 2600];
const BELL_HZ = [620, 1240, 1488, 1860];
const KLAXON_HZ = [340, 408, 680, 1020];

/**
 * Every alert tone made so far, by its name in the API; `silent` is one of them and has no segments.
 * own choice: all pitches and rhythms, but for fire-alarm's three pulses (ISO 8201 temporal-three, first cycle).
 */
export const TONE_SEGMENTS: Readonly<Record<string, readonly ToneSegment[]>> = {
  "all-clear1": [note(587, 700), note(494, 700), note(392, 1100)],
  bell: times(2, strike(BELL_HZ, 900)),
  chime: [strike(784, 500), strike(622, 1000)],
  "class-change1": [strike(660, 300), strike(550, 300), strike(660, 300), strike(880, 700)],
  default: [strike(523, 200), strike(659, 200), strike(1047, 700)],
  evacuate1: [glide(500, 1200, 1200), rest(250), glide(500, 1200, 1200)],
  "fire-alarm": [note(FIRE_HZ, 500), rest(500), note(FIRE_HZ, 500), rest(500), note(FIRE_HZ, 500)],
  klaxon: [note(KLAXON_HZ, 600), rest(150), note(KLAXON_HZ, 600)],
  lockdown: times(4, note(960, 250), note(770, 250)),
  silent: [],
  "take-shelter": [...times(3, note(1400, 150), rest(100)), note(700, 900)],
  tone: [note(1000, 1500)],
  "tornado-siren": [glide(400, 900, 1800), glide(900, 400, 1800)],
};
