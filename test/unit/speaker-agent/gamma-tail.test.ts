import { describe, expect, it } from "vitest";
import { lnGammaTail } from "../../../src/speaker-agent/gamma-tail.ts";

describe("tail of the gamma distribution", () => {
  it("equals the exponential distribution for one bin", () => {
    for (const value of [1.5, 10, 40, 700]) expect(lnGammaTail(value, 1, 1)).toBeCloseTo(-value, 8);
  });

  it("equals the sum of Poisson probabilities for whole shapes", () => {
    // P(Gamma(n) > x) = P(Poisson(x) < n).
    let term = Math.exp(-30);
    let sum = term;
    for (let n = 1; n < 12; n++) {
      term *= 30 / n;
      sum += term;
    }
    expect(lnGammaTail(30, 12, 12)).toBeCloseTo(Math.log(sum), 8);
    expect(lnGammaTail(60, 24, 48)).toBeCloseTo(Math.log(sum), 8);
  });

  it("counts values below the mean as certain", () => {
    expect(lnGammaTail(11, 12, 12)).toBe(0);
    expect(lnGammaTail(Number.NaN, 12, 12)).toBe(0);
  });
});
