import { describe, expect, it } from "vitest";
import { createFft } from "../../../src/media/fft.ts";

describe("FFT", () => {
  it("equals the sum of its definition", () => {
    const length = 16;
    const re = Float64Array.from({ length }, (_, n) => Math.sin(n * n));
    const im = Float64Array.from({ length }, (_, n) => Math.cos(3 * n) / (n + 1));
    const [givenRe, givenIm] = [re.slice(), im.slice()];
    createFft(length).forward(re, im);
    for (let k = 0; k < length; k++) {
      let [sumRe, sumIm] = [0, 0];
      for (let n = 0; n < length; n++) {
        const angle = (-2 * Math.PI * k * n) / length;
        const [a, b] = [givenRe[n] as number, givenIm[n] as number];
        sumRe += a * Math.cos(angle) - b * Math.sin(angle);
        sumIm += a * Math.sin(angle) + b * Math.cos(angle);
      }
      expect(re[k]).toBeCloseTo(sumRe, 10);
      expect(im[k]).toBeCloseTo(sumIm, 10);
    }
  });

  it("is undone by its inverse", () => {
    const re = Float64Array.from({ length: 1_024 }, (_, n) => Math.sin(n) * n);
    const im = new Float64Array(1_024);
    const given = re.slice();
    const fft = createFft(1_024);
    fft.forward(re, im);
    fft.inverse(re, im);
    for (let n = 0; n < 1_024; n++) expect(re[n]).toBeCloseTo(given[n] as number, 8);
  });

  it("refuses other lengths", () => {
    for (const length of [0, 1, 3, 1_000]) expect(() => createFft(length)).toThrow(/power of two/);
  });
});
