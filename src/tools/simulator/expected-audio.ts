import { invalidValue } from "../../lib/errors.ts";
import { encodeMuLaw, MU_LAW_SILENCE, muLawTable } from "./mu-law.ts";

/** Bytes per RTP frame: 20 ms of G.711 at 8 kHz. */
export const FRAME_BYTES = 160;

/** Audio that listeners should receive: µ-law frames of 160 bytes, the last one padded with silence. */
export interface ExpectedAudio {
  payload: Uint8Array;
  frames: number;
}

/** Parses a WAV file (PCM, mono, 16 bit, 8 kHz) and encodes it; CallerError for other formats and invalid files. */
export function readExpectedAudio(wav: Buffer): ExpectedAudio {
  const samples = readSamples(wav);
  if (samples.length === 0) throw invalidValue("programme", "Must contain audio.");
  const frames = Math.ceil(samples.length / FRAME_BYTES);
  const payload = new Uint8Array(frames * FRAME_BYTES).fill(MU_LAW_SILENCE);
  payload.set(encodeMuLaw(samples, muLawTable()));
  return { payload, frames };
}

function readSamples(wav: Buffer): Int16Array {
  const chunks = readChunks(wav);
  const format = chunks.get("fmt ");
  const data = chunks.get("data");
  if (!format || format.length < 16 || !data)
    throw invalidValue("programme", "Must have a fmt chunk and a data chunk.");
  const kind = [format.readUInt16LE(0), format.readUInt16LE(2), format.readUInt32LE(4), format.readUInt16LE(14)];
  if (kind.join() !== "1,1,8000,16") throw invalidValue("programme", "Must be PCM, mono, 8000 Hz, 16 bit.");
  const samples = new Int16Array(data.length >> 1);
  for (let index = 0; index < samples.length; index++) samples[index] = data.readInt16LE(index * 2);
  return samples;
}

/** RIFF chunks by name, the first of each; a chunk that is longer than the file is truncated. */
function readChunks(wav: Buffer): Map<string, Buffer> {
  const chunks = new Map<string, Buffer>();
  if (wav.toString("latin1", 0, 4) !== "RIFF" || wav.toString("latin1", 8, 12) !== "WAVE") {
    throw invalidValue("programme", "Must be a WAV file.");
  }
  for (let at = 12; at + 8 <= wav.length; ) {
    const size = wav.readUInt32LE(at + 4);
    const name = wav.toString("latin1", at, at + 4);
    if (!chunks.has(name)) chunks.set(name, wav.subarray(at + 8, at + 8 + size));
    at += 8 + size + (size % 2);
  }
  return chunks;
}
