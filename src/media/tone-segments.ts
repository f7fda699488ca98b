/** A part of an alert tone with constant or gliding frequencies. */
export interface ToneSegment {
  /** Simultaneous frequencies, the first one strongest; empty for silence. Hz, within 300..3400. */
  readonly frequenciesHz: readonly number[];
  /** End frequencies of a glide; as long as frequenciesHz. */
  readonly glideToHz?: readonly number[];
  readonly durationMs: number;
  /** `steady`: constant level; `struck`: decays like a bell. */
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

/** A low square-like signal wakes sleepers best. @source NFPA 72 §18.4.6 (520 Hz fundamental) */
const FIRE_HZ = [520, 1560, 2600];
const BELL_HZ = [620, 1240, 1488, 1860];
const KLAXON_HZ = [340, 408, 680, 1020];

/** DTMF keys, two frequencies each. @source ITU-T Q.23 */
const KEY_9 = [852, 1477];
const KEY_1 = [697, 1209];

/** Replaces the spoken drill announcement where no speech engine is available; unlike any alert tone. */
export const DRILL_SIGNAL: readonly ToneSegment[] = [...times(3, note(440, 90), rest(60), note(660, 90), rest(160))];

/**
 * Every alert tone by its name in the API; `silent` is one of them and has no segments. From standards: fire-alarm's
 * three pulses (ISO 8201 temporal-three, first cycle), evacuate2 (NEN 2575 slow whoop), evacuate4 (DIN 33404-3),
 * industrial-alarm (NF S 32-001) and 911-dialed. A lockdown with more pulses is also higher, so that latecomers can
 * tell them apart. @source docs/decisions/0700-audio-processing.md, Alert tones
 */
export const TONE_SEGMENTS: Readonly<Record<string, readonly ToneSegment[]>> = {
  "911-dialed": times(2, note(KEY_9, 220), rest(80), ...times(2, note(KEY_1, 220), rest(80))),
  accent: [strike([880, 1760], 150), strike([1175, 2350], 900)],
  "all-clear1": [note(587, 700), note(494, 700), note(392, 1100)],
  "all-clear2": [strike(392, 450), strike(494, 450), strike(587, 450), strike(784, 1000)],
  bell: times(2, strike(BELL_HZ, 900)),
  bright: [strike(1319, 180), strike(1568, 180), strike(2093, 800)],
  chime: [strike(784, 500), strike(622, 1000)],
  chirp: times(6, glide(1500, 2800, 120), rest(130)),
  "class-change1": [strike(660, 300), strike(550, 300), strike(660, 300), strike(880, 700)],
  "class-change2": [strike(440, 400), strike(349, 400), strike(440, 400), strike(349, 900)],
  "class-change3": times(3, strike(988, 250), strike(740, 250)),
  "class-change4": [strike(440, 250), strike(554, 250), strike(659, 250), strike(880, 250), strike(659, 700)],
  "class-change5": [strike([587, 880], 600), strike([494, 740], 600), strike([587, 880], 900)],
  "class-change6": times(7, strike(1245, 150), rest(60)),
  "code-blue": times(2, note(1250, 180), rest(70), note(1250, 180), rest(70), note(930, 350), rest(250)),
  "code-call": [...times(2, strike(740, 350)), rest(350), ...times(3, strike(740, 350))],
  crystal: [strike(2093, 150), strike(2637, 150), strike(3136, 150), strike(2637, 150), strike(3136, 800)],
  default: [strike(523, 200), strike(659, 200), strike(1047, 700)],
  evacuate1: [glide(500, 1200, 1200), rest(250), glide(500, 1200, 1200)],
  evacuate2: [glide(500, 1200, 3500), rest(500)],
  evacuate3: times(3, note(950, 500), rest(500)),
  evacuate4: times(3, glide(1200, 500, 1000)),
  "fire-alarm": [note(FIRE_HZ, 500), rest(500), note(FIRE_HZ, 500), rest(500), note(FIRE_HZ, 500)],
  "industrial-alarm": times(6, note(554, 100), note(440, 400)),
  "internal-emergency1": times(3, note(660, 150), note(880, 150), note(660, 150), rest(200)),
  "internal-emergency2": times(5, note(1500, 120), note(1120, 120), rest(160)),
  "internal-emergency3": times(5, glide(900, 1800, 350), rest(100)),
  klaxon: [note(KLAXON_HZ, 600), rest(150), note(KLAXON_HZ, 600)],
  "location-closing": [strike(784, 600), strike(659, 600), strike(523, 600), strike(392, 1200)],
  lockdown: times(4, note(960, 250), note(770, 250)),
  "lockdown-1-pulse": times(2, note(620, 1200), rest(600)),
  "lockdown-2-pulses": times(2, note(830, 350), rest(150), note(830, 350), rest(600)),
  "lockdown-3-pulses": times(2, ...times(3, note(1110, 200), rest(150)), rest(450)),
  "room-turn": [strike(1047, 350), strike(880, 350), strike(1047, 900)],
  "severe-weather-advisory": times(5, note(1050, 300), rest(300)),
  "shift-change1": [note([440, 554, 659], 1800)],
  "shift-change2": times(2, note([494, 622, 740], 700), rest(300)),
  "shift-change3": [note([370, 466], 500), note([554, 698], 1300)],
  "shift-change4": times(3, note([330, 415, 494], 450), rest(200)),
  silent: [],
  "take-shelter": [...times(3, note(1400, 150), rest(100)), note(700, 900)],
  tone: [note(1000, 1500)],
  "tornado-siren": [glide(400, 900, 1800), glide(900, 400, 1800)],
};
