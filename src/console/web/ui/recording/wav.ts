/** Sample rate of recordings: enough for speech, and supported by every channel. */
export const RECORDING_HZ = 16_000;

const HEAD_BYTES = 44;

/** Samples of one channel (full scale 1; louder is cut) as a 16-bit WAV file. @source RFC 2361, Microsoft RIFF WAVE PCM */
export function encodeWav(samples: Float32Array, rateHz: number): ArrayBuffer {
  const bytes = new ArrayBuffer(HEAD_BYTES + 2 * samples.length);
  const view = new DataView(bytes);
  const text = (at: number, word: string): void => {
    for (let i = 0; i < word.length; i++) view.setUint8(at + i, word.charCodeAt(i));
  };
  text(0, "RIFF");
  view.setUint32(4, HEAD_BYTES - 8 + 2 * samples.length, true);
  text(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rateHz, true);
  view.setUint32(28, 2 * rateHz, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  text(36, "data");
  view.setUint32(40, 2 * samples.length, true);
  samples.forEach((sample, i) => {
    const cut = Math.max(-1, Math.min(1, sample));
    view.setInt16(HEAD_BYTES + 2 * i, Math.round(cut * (cut < 0 ? 32_768 : 32_767)), true);
  });
  return bytes;
}
