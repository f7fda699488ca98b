/** Amplitude of one pitch in `samples` (full scale 1) at `rateHz`, by correlation with a Hann-windowed sine. */
export function amplitudeAt(samples: Float32Array, hz: number, rateHz = 8000): number {
  let [real, imaginary, weight] = [0, 0, 0];
  for (let i = 0; i < samples.length; i++) {
    const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * (i + 0.5)) / samples.length);
    const angle = (2 * Math.PI * hz * i) / rateHz;
    real += window * (samples[i] ?? 0) * Math.cos(angle);
    imaginary += window * (samples[i] ?? 0) * Math.sin(angle);
    weight += window;
  }
  return (2 * Math.hypot(real, imaginary)) / weight;
}

/** The strongest of the given pitches. */
export function strongestPitch(samples: Float32Array, pitches: readonly number[]): number {
  return pitches.reduce((best, hz) => (amplitudeAt(samples, hz) > amplitudeAt(samples, best) ? hz : best));
}

/** Root mean square. */
export function rms(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}

/** Decibels of an amplitude ratio. */
export function db(ratio: number): number {
  return 20 * Math.log10(ratio);
}

/** `seconds` of a sine. */
export function sine(hz: number, seconds: number, amplitude = 0.5, rateHz = 8000): Float32Array {
  const samples = new Float32Array(Math.round(seconds * rateHz));
  return samples.map((_, i) => amplitude * Math.sin((2 * Math.PI * hz * i) / rateHz));
}

/** Pearson correlation of two equally long signals. */
export function correlation(a: Float32Array, b: Float32Array): number {
  const meanOf = (values: Float32Array): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanA, meanB] = [meanOf(a), meanOf(b)];
  let [both, onlyA, onlyB] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [(a[i] ?? 0) - meanA, (b[i] ?? 0) - meanB];
    both += x * y;
    onlyA += x * x;
    onlyB += y * y;
  }
  return both / Math.sqrt(onlyA * onlyB);
}

/** Where in `sound` the samples `wanted` fit best within `from` .. `to`, and how well (Pearson correlation). */
export function locateSound(
  sound: Float32Array,
  wanted: Float32Array,
  from = 0,
  to = sound.length - wanted.length,
): { at: number; correlation: number } {
  const best = { at: -1, correlation: -1 };
  // Half a second is enough to find the place; the whole is judged there.
  const probe = wanted.subarray(0, 4000);
  for (let at = Math.max(0, from); at <= to; at++) {
    const fit = correlation(sound.subarray(at, at + probe.length), probe);
    if (fit > best.correlation) Object.assign(best, { at, correlation: fit });
  }
  if (best.at < 0) return best;
  return { at: best.at, correlation: correlation(sound.subarray(best.at, best.at + wanted.length), wanted) };
}
