/** Sample rate of G.711, and of the stored copy of rendered audio, Hz. */
export const SAMPLE_RATE_HZ = 8000;

/** Sample rate of G.722 input, Hz. */
export const WIDEBAND_RATE_HZ = 16_000;

/** Samples for a length in ms, rounded. */
export function sampleCount(durationMs: number, rateHz = SAMPLE_RATE_HZ): number {
  return Math.round((durationMs * rateHz) / 1000);
}

/** Full scale 1 to 16 bits, rounded, clamped; NaN becomes 0. */
export function toPcm(samples: Float32Array): Int16Array {
  const pcm = new Int16Array(samples.length);
  for (let i = 0; i < samples.length; i++) {
    pcm[i] = Math.max(-32768, Math.min(32767, Math.round((samples[i] as number) * 32768)));
  }
  return pcm;
}

/** 16 bits to full scale 1. */
export function fromPcm(pcm: Int16Array): Float32Array {
  return Float32Array.from(pcm, (sample) => sample / 32768);
}
