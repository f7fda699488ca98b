const SEGMENTS = 8;
const STEPS = 16;

/** What µ-law silence looks like on the wire; pads the last frame of a programme. */
export const MU_LAW_SILENCE = 0xff;

/**
 * The smallest 16-bit magnitude of a step: 0, 4, 12, 20 … 124, 140 …, the distance doubling with every segment.
 * @source G.711 table 2a, decision values (14 bit) times 4
 */
function decisionValue(segment: number, step: number): number {
  return Math.max(0, (128 + 8 * step) * 2 ** segment - 132);
}

/**
 * The µ-law byte of every 16-bit sample, indexed by the sample's unsigned form (65,536 entries). Made from the
 * decision values, not by shifting bits, so that it shares no fault with an ordinary encoder.
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

/** Gives the magnitudes from `from` up to `to` the byte of one step: all bits inverted, the highest one set for positive. */
function fill(table: Uint8Array, step: number, from: number, to: number): void {
  for (let magnitude = from; magnitude < to; magnitude++) {
    if (magnitude > 0) table[-magnitude & 0xffff] = 0x7f - step;
    if (magnitude < 32_768) table[magnitude] = 0xff - step;
  }
}

/** Encodes 16-bit samples with `table`, one byte each, same order; empty gives empty. */
export function encodeMuLaw(samples: Int16Array, table: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(samples.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = table[(samples[index] ?? 0) & 0xffff] ?? 0;
  return bytes;
}
