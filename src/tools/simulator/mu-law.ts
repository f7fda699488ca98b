const SEGMENTS = 8;
const STEPS = 16;

/** µ-law code of silence; pads the last frame of the expected audio. */
export const MU_LAW_SILENCE = 0xff;

/**
 * The smallest 16-bit magnitude of a step: 0, 4, 12, 20 … 124, 140 …; the distance doubles with every segment.
 * @source G.711 table 2a, decision values (14 bit) times 4
 */
function decisionValue(segment: number, step: number): number {
  return Math.max(0, (128 + 8 * step) * 2 ** segment - 132);
}

/**
 * The µ-law byte of every 16-bit sample, indexed by its unsigned value (65,536 entries). Built from the decision values
 * instead of by bit shifting, so that it shares no bug with the encoder of the appliance.
 */
export function muLawTable(): Uint8Array {
  const table = new Uint8Array(65_536);
  for (let segment = 0; segment < SEGMENTS; segment++) {
    for (let step = 0; step < STEPS; step++) {
      const isLast = segment === SEGMENTS - 1 && step === STEPS - 1;
      const next = isLast ? 32_769 : decisionValue(segment, step + 1);
      fill(table, segment * STEPS + step, decisionValue(segment, step), next);
    }
  }
  return table;
}

/** Assigns the byte of one step to the magnitudes from `from` up to `to`: all bits inverted, the highest one set for positive. */
function fill(table: Uint8Array, step: number, from: number, to: number): void {
  for (let magnitude = from; magnitude < to; magnitude++) {
    if (magnitude > 0) table[-magnitude & 0xffff] = 0x7f - step;
    if (magnitude < 32_768) table[magnitude] = 0xff - step;
  }
}

/** Encodes 16-bit samples with `table`, one byte each. */
export function encodeMuLaw(samples: Int16Array, table: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(samples.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = table[(samples[index] ?? 0) & 0xffff] ?? 0;
  return bytes;
}
