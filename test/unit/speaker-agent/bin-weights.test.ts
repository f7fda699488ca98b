import { describe, expect, it } from "vitest";
import { weighBins } from "../../../src/speaker-agent/bin-weights.ts";
import { BINS } from "../../../src/speaker-agent/block-spectra.ts";

const noise = new Float64Array(BINS).fill(1);

/** Energies of 3 bins around each of these. */
function notesAt(...centres: number[]): Float64Array {
  const energy = new Float64Array(BINS);
  for (const centre of centres) energy.fill(1_000, centre - 1, centre + 2);
  return energy;
}

function deviations(energy: Float64Array, evidenceAt: readonly number[]): number {
  const { score, mean, variance } = weighBins(energy, noise)?.score(notesAt(...evidenceAt)) ?? {
    ...{ score: 0, mean: 0, variance: 1 },
  };
  return (score - mean) / Math.sqrt(variance);
}

describe("weights of the bins", () => {
  it("leave out the best note of three: other music shares it by chance", () => {
    const energy = notesAt(50, 150, 250);
    expect(deviations(energy, [50])).toBeLessThan(0);
    expect(deviations(energy, [50, 150])).toBeGreaterThan(10);
  });

  it("know the chance that what they leave out is shared", () => {
    const lnLeftOut = (...centres: number[]) => weighBins(notesAt(...centres), noise)?.lnLeftOut;
    expect(lnLeftOut(50)).toBe(0);
    expect(lnLeftOut(50, 150, 250)).toBeCloseTo(Math.log(3 * 0.05), 9);
    expect(lnLeftOut(50, 100, 150, 200, 250)).toBeCloseTo(Math.log(10 * 0.05 ** 2), 9);
    expect(lnLeftOut(...Array.from({ length: 20 }, (_, n) => 20 * n + 10))).toBeCloseTo(Math.log(0.01), 9);
  });

  it("count a single note, and neither side lobes nor distortion", () => {
    const energy = notesAt(50);
    energy[300] = 10;
    expect(deviations(energy, [50])).toBeGreaterThan(10);
    expect(weighBins(energy, noise)?.weights[300]).toBe(0);
  });

  it("take bins without evidence for average", () => {
    const { score, mean } = weighBins(notesAt(50, 150), noise)?.score(new Float64Array(BINS).fill(Number.NaN)) ?? {};
    expect(score).toBeCloseTo(mean ?? 0, 9);
    expect(mean).toBeGreaterThan(0);
  });

  it("are missing for silence", () => {
    expect(weighBins(new Float64Array(BINS), noise)).toBeNull();
  });
});
