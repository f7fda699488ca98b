import { BugError } from "../lib/errors.ts";

/** In-place discrete Fourier transform of a fixed length. */
export interface Fft {
  readonly length: number;
  /** Transforms the complex signal `re` + i `im`; the result is not scaled. */
  forward(re: Float64Array, im: Float64Array): void;
  /** Inverse of `forward`, scaled by 1 / length. */
  inverse(re: Float64Array, im: Float64Array): void;
}

/** Creates a radix-2 transform; `length` must be a power of two. */
export function createFft(length: number): Fft {
  if (length < 2 || (length & (length - 1)) !== 0)
    throw new BugError("The length of a transform must be a power of two.");
  const half = length / 2;
  const cos = Float64Array.from({ length: half }, (_, n) => Math.cos((2 * Math.PI * n) / length));
  const sin = Float64Array.from({ length: half }, (_, n) => Math.sin((2 * Math.PI * n) / length));
  const reversed = bitReversal(length);

  const forward = (re: Float64Array, im: Float64Array): void => {
    for (let n = 0; n < length; n++) {
      const other = reversed[n] as number;
      if (other > n) {
        swap(re, n, other);
        swap(im, n, other);
      }
    }
    for (let size = 2, step = half; size <= length; size *= 2, step /= 2) {
      const reach = size / 2;
      for (let start = 0; start < length; start += size) {
        for (let n = start, k = 0; n < start + reach; n++, k += step) {
          const c = cos[k] as number;
          const s = sin[k] as number;
          const a = re[n + reach] as number;
          const b = im[n + reach] as number;
          const turnedRe = a * c + b * s;
          const turnedIm = b * c - a * s;
          re[n + reach] = (re[n] as number) - turnedRe;
          im[n + reach] = (im[n] as number) - turnedIm;
          re[n] = (re[n] as number) + turnedRe;
          im[n] = (im[n] as number) + turnedIm;
        }
      }
    }
  };
  return {
    length,
    forward,
    inverse(re, im) {
      // The transform with real and imaginary parts swapped is the conjugate one.
      forward(im, re);
      for (let n = 0; n < length; n++) {
        re[n] = (re[n] as number) / length;
        im[n] = (im[n] as number) / length;
      }
    },
  };
}

function bitReversal(length: number): Uint32Array {
  const reversed = new Uint32Array(length);
  for (let n = 1; n < length; n++) reversed[n] = ((reversed[n >> 1] as number) >> 1) | ((n & 1) === 1 ? length / 2 : 0);
  return reversed;
}

function swap(values: Float64Array, a: number, b: number): void {
  const value = values[a] as number;
  values[a] = values[b] as number;
  values[b] = value;
}
