/** Natural logarithm of the gamma function, for positive numbers. @source C. Lanczos, A Precision Approximation of the Gamma Function, 1964; coefficients for g = 7, n = 9 */
function lnGamma(x: number): number {
  const base = x + 6.5;
  const sum = LANCZOS.reduce((total, coefficient, n) => total + (n === 0 ? coefficient : coefficient / (x + n - 1)), 0);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(base) - base + Math.log(sum);
}

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

const MAX_TERMS = 500;
const TINY = 1e-300;

/**
 * Natural logarithm of the probability that a gamma-distributed variable with this mean and variance exceeds `value`.
 * Values up to the mean count as probability 1: only the upper tail is of interest.
 */
export function lnGammaTail(value: number, mean: number, variance: number): number {
  const scale = variance / mean;
  const shape = mean / scale;
  const x = value / scale;
  if (!(x > shape)) return 0;
  // Continued fraction of the upper incomplete gamma function by Lentz's method. @source DLMF 8.9.2
  let b = x + 1 - shape;
  let c = 1 / TINY;
  let d = 1 / b;
  let fraction = d;
  for (let n = 1; n <= MAX_TERMS; n++) {
    const a = -n * (n - shape);
    b += 2;
    d = 1 / nonZero(a * d + b);
    c = nonZero(b + a / c);
    fraction *= d * c;
    if (Math.abs(d * c - 1) < 1e-12) break;
  }
  return Math.min(0, shape * Math.log(x) - x - lnGamma(shape) + Math.log(fraction));
}

function nonZero(value: number): number {
  return Math.abs(value) < TINY ? TINY : value;
}
