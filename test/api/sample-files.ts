/** The smallest picture: 1 by 1 pixel. */
export const PNG_BYTES: Uint8Array<ArrayBuffer> = Uint8Array.from(
  Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "base64",
  ),
);

/** A recording of a 440 Hz tone: 8 kHz, 16 bit, mono WAV. */
export function createWav(seconds: number): Uint8Array<ArrayBuffer> {
  const samples = Math.round(seconds * 8_000);
  const wav = Buffer.alloc(44 + 2 * samples);
  wav.write("RIFF", 0, "latin1");
  wav.writeUInt32LE(36 + 2 * samples, 4);
  wav.write("WAVEfmt ", 8, "latin1");
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(8_000, 24);
  wav.writeUInt32LE(16_000, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write("data", 36, "latin1");
  wav.writeUInt32LE(2 * samples, 40);
  for (let at = 0; at < samples; at++) {
    wav.writeInt16LE(Math.round(10_000 * Math.sin((2 * Math.PI * 440 * at) / 8_000)), 44 + 2 * at);
  }
  return Uint8Array.from(wav);
}
