/**
 * QMF coefficients: split the signal into a lower and a higher band; alternating ones for each. @source ITU-T G.722
 * table 11
 */
const QMF_COEFFICIENTS = Int32Array.of(3, -11, 12, 32, -210, 951, 3876, -805, 362, -156, 53, -11);
/** Samples that the filter looks back on, the newest two included. */
const QMF_WINDOW_SAMPLES = 2 * QMF_COEFFICIENTS.length;

/** Decision levels of the lower band's quantizer. @source ITU-T G.722 table 14, Q6 */
const LOW_LEVELS = Int32Array.of(
  ...[35, 72, 110, 150, 190, 233, 276, 323, 370, 422, 473, 530, 587, 650, 714, 786, 858, 940, 1023, 1121],
  ...[1219, 1339, 1458, 1612, 1765, 1980, 2195, 2557, 2919],
);
/** Output values of the four upper bits of a lower-band code. @source ITU-T G.722 table 15, QM4 */
const LOW_OUTPUT = Int32Array.of(
  ...[0, -20456, -12896, -8968, -6288, -4240, -2584, -1200],
  ...[20456, 12896, 8968, 6288, 4240, 2584, 1200, 0],
);
/** Output values of all six bits of a lower-band code. @source ITU-T G.722 table 15, QM6 */
const LOW_FINE_OUTPUT = Int32Array.of(
  ...[-136, -136, -136, -136, -24808, -21904, -19008, -16704, -14984, -13512, -12280, -11192, -10232, -9360, -8576],
  ...[-7856, -7192, -6576, -6000, -5456, -4944, -4464, -4008, -3576, -3168, -2776, -2400, -2032, -1688, -1360, -1040],
  ...[-728, 24808, 21904, 19008, 16704, 14984, 13512, 12280, 11192, 10232, 9360, 8576, 7856, 7192, 6576, 6000, 5456],
  ...[4944, 4464, 4008, 3576, 3168, 2776, 2400, 2032, 1688, 1360, 1040, 728, 432, 136, -432, -136],
);
/** Change of the scale's logarithm per code. @source ITU-T G.722 tables 16 and 17, WL by RL42 */
const LOW_STEP = Int32Array.of(-60, 3042, 1198, 538, 334, 172, 58, -30, 3042, 1198, 538, 334, 172, 58, -30, -60);
/** The same for the two bits of the higher band. @source ITU-T G.722 tables 18 and 19, QM2 and WH by RH2 */
const HIGH_OUTPUT = Int32Array.of(-7408, -1616, 7408, 1616);
const HIGH_STEP = Int32Array.of(798, -214, 798, -214);
const HIGH_LEVEL = 564;
/** Antilogarithms, 2048 x 2^(n/32). @source ITU-T G.722 table 20, ILB */
const ANTILOG = Int32Array.from({ length: 32 }, (_, n) => Math.floor(2048 * 2 ** (n / 32) + 0.5));

const MAX_SAMPLE = 32767;
const clamp = (value: number): number =>
  value > MAX_SAMPLE ? MAX_SAMPLE : value < -MAX_SAMPLE - 1 ? -MAX_SAMPLE - 1 : value;

/** Quantizer tables of one band. */
interface BandTable {
  output: Int32Array;
  step: Int32Array;
  maxLogScale: number;
  shift: number;
}

const LOW: BandTable = { output: LOW_OUTPUT, step: LOW_STEP, maxLogScale: 18432, shift: 8 };
const HIGH: BandTable = { output: HIGH_OUTPUT, step: HIGH_STEP, maxLogScale: 22528, shift: 10 };

/** The adaptive state of one band: its scale and its predictor of two poles and six zeros. Names as in the standard. */
class Band {
  readonly #table: BandTable;
  /** Predicted value of the next sample. */
  predicted = 0;
  scale: number;
  #logScale = 0;
  #a1 = 0;
  #a2 = 0;
  #p1 = 0;
  #p2 = 0;
  #r1 = 0;
  #zeroPart = 0;
  readonly #b = new Int32Array(6);
  readonly #d = new Int32Array(6);

  constructor(table: BandTable, scale: number) {
    this.#table = table;
    this.scale = scale;
  }

  /** Updates the state from `code` as a decoder does. @source ITU-T G.722 §3.6, blocks 3 and 4 */
  adapt(code: number): void {
    const { output, step, maxLogScale, shift } = this.#table;
    const difference = (this.scale * (output[code] as number)) >> 15;
    const logScale = ((this.#logScale * 127) >> 7) + (step[code] as number);
    this.#logScale = Math.max(0, Math.min(maxLogScale, logScale));
    const antilog = ANTILOG[(this.#logScale >> 6) & 31] as number;
    const down = shift - (this.#logScale >> 11);
    this.scale = (down < 0 ? antilog << -down : antilog >> down) << 2;
    this.#predict(difference);
  }

  #predict(difference: number): void {
    const reconstructed = clamp(this.predicted + difference);
    const partial = clamp(this.#zeroPart + difference);
    this.#movePoles(partial);
    this.#moveZeros(difference);
    const fromPoles = ((this.#a1 * clamp(2 * reconstructed)) >> 15) + ((this.#a2 * clamp(2 * this.#r1)) >> 15);
    this.#r1 = reconstructed;
    let sum = 0;
    for (let i = 0; i < 6; i++) sum += ((this.#b[i] as number) * clamp(2 * (this.#d[i] as number))) >> 15;
    this.#zeroPart = clamp(sum);
    this.predicted = clamp(clamp(fromPoles) + this.#zeroPart);
  }

  /** @source ITU-T G.722 blocks UPPOL2 and UPPOL1 */
  #movePoles(partial: number): void {
    const like1 = partial < 0 === this.#p1 < 0;
    const like2 = partial < 0 === this.#p2 < 0;
    const quick = clamp(4 * this.#a1);
    const turned = Math.min(MAX_SAMPLE, like1 ? -quick : quick);
    const a2 = (turned >> 7) + (like2 ? 128 : -128) + ((this.#a2 * 32512) >> 15);
    this.#a2 = Math.max(-12288, Math.min(12288, a2));
    const most = 15360 - this.#a2;
    const a1 = (like1 ? 192 : -192) + ((this.#a1 * 32640) >> 15);
    this.#a1 = Math.max(-most, Math.min(most, a1));
    this.#p2 = this.#p1;
    this.#p1 = partial;
  }

  /** @source ITU-T G.722 block UPZERO */
  #moveZeros(difference: number): void {
    const [b, d] = [this.#b, this.#d];
    const push = difference === 0 ? 0 : 128;
    for (let i = 0; i < 6; i++) {
      const like = (d[i] as number) < 0 === difference < 0;
      b[i] = clamp((((b[i] as number) * 32640) >> 15) + (like ? push : -push));
    }
    d.copyWithin(1, 0, 5);
    d[0] = difference;
  }
}

/** An encoder with the state of one stream. */
export interface G722Encoder {
  /**
   * Encodes consecutive 16-bit samples of 16 kHz: one byte for two samples, 64 kbit/s. An odd last sample waits for the
   * next call.
   */
  encode(pcm: Int16Array): Uint8Array;
}

/** A code that decodes to silence when repeated, which no encoder output does; found by trying all 256. */
export const G722_SILENCE = 0xfc;

/**
 * Creates a G.722 encoder in mode 1 (64 kbit/s): 1 packet = 160 bytes = 20 ms, payload type 9, RTP clock 8,000 although
 * the input has 16,000 samples per second. Runs about 100 times faster than real time, in the audio thread, or for live
 * voices (20 ms at a time, 0.2 ms of work) where they arrive. @source ITU-T G.722 §3 and annex; RFC 3551 §4.5.2
 */
export function createG722Encoder(): G722Encoder {
  const [low, high] = [new Band(LOW, 32), new Band(HIGH, 8)];
  /** The newest QMF_WINDOW_SAMPLES - 2 samples, then those to encode. */
  let window = new Int32Array(QMF_WINDOW_SAMPLES - 2);
  return {
    encode(pcm) {
      const input = new Int32Array(window.length + pcm.length);
      input.set(window);
      input.set(pcm, window.length);
      const codes = new Uint8Array(Math.floor((input.length - QMF_WINDOW_SAMPLES + 2) / 2));
      for (let i = 0; i < codes.length; i++) codes[i] = encodePair(input, 2 * i, low, high);
      window = input.slice(2 * codes.length);
      return codes;
    },
  };
}

/**
 * Creates a decoder of the lower band of a stream, which is the voice up to 4 kHz: 16-bit samples of 8 kHz, one for each
 * byte, whatever the mode of the encoder. The upper band is left out. @source ITU-T G.722 §4
 */
export function createG722VoiceDecoder(): (codes: Uint8Array) => Int16Array {
  const low = new Band(LOW, 32);
  return (codes) =>
    Int16Array.from(codes, (code) => {
      const lowCode = code & 63;
      const fine = (low.scale * (LOW_FINE_OUTPUT[lowCode] as number)) >> 15;
      const sample = Math.max(-MAX_LOW_SAMPLE, Math.min(MAX_LOW_SAMPLE - 1, low.predicted + fine));
      low.adapt(lowCode >> 2);
      // The filters of the encoder halve the amplitude.
      return 2 * sample;
    });
}

/** Limit of the lower band. @source ITU-T G.722 block LIMIT */
const MAX_LOW_SAMPLE = 16_384;

function encodePair(input: Int32Array, at: number, low: Band, high: Band): number {
  let older = 0;
  let newer = 0;
  for (let i = 0; i < QMF_COEFFICIENTS.length; i++) {
    older += (input[at + 2 * i] as number) * (QMF_COEFFICIENTS[i] as number);
    newer += (input[at + 2 * i + 1] as number) * (QMF_COEFFICIENTS[QMF_COEFFICIENTS.length - 1 - i] as number);
  }
  const lowCode = quantizeLow(clamp(((newer + older) >> 14) - low.predicted), low.scale);
  const highCode = quantizeHigh(clamp(((newer - older) >> 14) - high.predicted), high.scale);
  low.adapt(lowCode >> 2);
  high.adapt(highCode);
  return (highCode << 6) | lowCode;
}

/** @source ITU-T G.722 block QUANTL and tables ILN and ILP */
function quantizeLow(error: number, scale: number): number {
  const size = error < 0 ? ~error : error;
  let level = size >= ((LOW_LEVELS[8] as number) * scale) >> 12 ? 9 : 0;
  while (level < LOW_LEVELS.length && size >= ((LOW_LEVELS[level] as number) * scale) >> 12) level++;
  if (error >= 0) return 61 - level;
  return (level < 2 ? 63 : 33) - level;
}

/** @source ITU-T G.722 block QUANTH */
function quantizeHigh(error: number, scale: number): number {
  const size = error < 0 ? ~error : error;
  const isSmall = size < (HIGH_LEVEL * scale) >> 12;
  return (error < 0 ? 0 : 2) + (isSmall ? 1 : 0);
}
