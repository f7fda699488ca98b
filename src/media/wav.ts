import { endianness } from "node:os";
import { type CallerError, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { RECORDING_RATE_RANGE_HZ, resample, type SampleSource } from "./resample.ts";
import { SAMPLE_RATE_HZ } from "./samples.ts";

/** The header of a recording, checked against the actual bytes. */
export interface WavInfo {
  rateHz: number;
  channels: 1 | 2;
  bits: 8 | 16 | 24 | 32;
  /** True for IEEE float samples (32 bits only). */
  float: boolean;
  /** Offset of the samples in the file. */
  offset: number;
  /** One sample per channel each; at least 1. */
  frames: number;
  durationMs: number;
}

const TAG_PCM = 1;
const TAG_FLOAT = 3;
const TAG_EXTENSIBLE = 0xfffe;
/** @source docs/decisions/0038-reliability.md, 0. Targets */
const MAX_DURATION_MS = 600_000;
const HEADER_BYTES = 44;

/**
 * Checks that `bytes` is a playable WAV recording: PCM of 8, 16, 24 or 32 bits or 32-bit float, mono or stereo, 8 to 96
 * kHz, up to 10 minutes. Reads the header only and allocates nothing by what it claims. Throws CallerError naming
 * `field` and the problem.
 */
export function inspectWav(bytes: Uint8Array, field = "audio"): WavInfo {
  const refuse = (detail: string): CallerError => invalidValue(field, detail);
  const chunks = readChunks(bytes, refuse);
  const format = readFormat(chunks.format, refuse);
  const frames = Math.floor(chunks.data.byteLength / ((format.channels * format.bits) / 8));
  if (frames === 0) throw refuse(sentence("field.the-wav-file-must-hold-audio-samples"));
  const durationMs = (frames * 1000) / format.rateHz;
  if (durationMs > MAX_DURATION_MS) throw refuse(sentence("field.the-recording-must-not-be-longer-than-10-minutes"));
  return { ...format, offset: chunks.data.byteOffset - bytes.byteOffset, frames, durationMs };
}

/**
 * Decodes a recording to mono samples (full scale 1; 8 kHz by default), channels averaged; takes tens of ms of CPU per
 * minute of audio. Throws like inspectWav.
 */
export function decodeWav(bytes: Uint8Array, field = "audio", rateHz = SAMPLE_RATE_HZ): Float32Array {
  return resample(sampleSource(bytes, inspectWav(bytes, field)), rateHz);
}

/** A WAV file of 8 kHz mono 16-bit samples. */
export function encodeWav(pcm: Int16Array): Buffer {
  // Copied as a block: an hour of audio would take 300 ms sample by sample.
  const samples = Buffer.from(pcm.buffer.slice(pcm.byteOffset, pcm.byteOffset + pcm.byteLength));
  if (endianness() === "BE") samples.swap16();
  const file = Buffer.allocUnsafe(HEADER_BYTES + samples.length);
  file.write("RIFF", 0, "latin1");
  file.writeUInt32LE(file.length - 8, 4);
  file.write("WAVEfmt ", 8, "latin1");
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(TAG_PCM, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(SAMPLE_RATE_HZ, 24);
  file.writeUInt32LE(2 * SAMPLE_RATE_HZ, 28);
  file.writeUInt16LE(2, 32);
  file.writeUInt16LE(16, 34);
  file.write("data", 36, "latin1");
  file.writeUInt32LE(2 * pcm.length, 40);
  samples.copy(file, HEADER_BYTES);
  return file;
}

type CreateError = (detail: string) => CallerError;

/** @source RIFF: chunks of a four-letter name, a length and content, padded to even offsets */
function readChunks(bytes: Uint8Array, refuse: CreateError): { format: DataView; data: DataView } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || tagAt(bytes, 0) !== "RIFF" || tagAt(bytes, 8) !== "WAVE")
    throw refuse(sentence("field.must-be-a-wav-file"));
  let format: DataView | undefined;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const tag = tagAt(bytes, at);
    const size = view.getUint32(at + 4, true);
    if (size > bytes.length - at - 8) {
      throw refuse(
        sentence("field.the-wav-file-is-truncated-tag-announces-size-bytes-but-only-given-follow", {
          tag,
          size,
          given: bytes.length - at - 8,
        }),
      );
    }
    const content = new DataView(bytes.buffer, bytes.byteOffset + at + 8, size);
    if (tag === "fmt ") format = content;
    if (tag === "data" && format) return { format, data: content };
    at += 8 + size + (size % 2);
  }
  throw refuse(sentence("field.the-wav-file-must-have-a-chunk-chunk", { chunk: format ? "data" : "fmt" }));
}

function readFormat(view: DataView, refuse: CreateError): Pick<WavInfo, "rateHz" | "channels" | "bits" | "float"> {
  if (view.byteLength < 16) throw refuse(sentence("field.the-format-chunk-of-the-wav-file-is-truncated"));
  const tag = view.getUint16(0, true);
  const kind = tag === TAG_EXTENSIBLE && view.byteLength >= 26 ? view.getUint16(24, true) : tag;
  const channels = view.getUint16(2, true);
  const rateHz = view.getUint32(4, true);
  const bits = view.getUint16(14, true);
  if (kind !== TAG_PCM && kind !== TAG_FLOAT)
    throw refuse(sentence("field.the-wav-file-must-be-pcm-format-is-kind", { kind }));
  if (channels !== 1 && channels !== 2)
    throw refuse(sentence("field.the-wav-file-must-have-1-or-2-channels-has-channels", { channels }));
  if (rateHz < RECORDING_RATE_RANGE_HZ.least || rateHz > RECORDING_RATE_RANGE_HZ.most)
    throw refuse(sentence("field.the-sample-rate-must-be-between-8000-and-96000-hz-is-rate", { rate: rateHz }));
  if ((bits !== 8 && bits !== 16 && bits !== 24 && bits !== 32) || (kind === TAG_FLOAT && bits !== 32)) {
    throw refuse(sentence("field.samples-of-bits-bits-format-kind-are-not-supported", { bits, kind }));
  }
  if (view.getUint16(12, true) !== (channels * bits) / 8)
    throw refuse(sentence("field.the-format-chunk-of-the-wav-file-contradicts-itself"));
  return { rateHz, channels, bits, float: kind === TAG_FLOAT };
}

function tagAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

function sampleSource(bytes: Uint8Array, info: WavInfo): SampleSource {
  const view = new DataView(bytes.buffer, bytes.byteOffset + info.offset);
  const sampleAt = sampleReader(view, info);
  const width = info.bits / 8;
  const step = width * info.channels;
  return {
    rateHz: info.rateHz,
    frames: info.frames,
    read(first, into) {
      for (let i = 0; i < into.length; i++) {
        const frame = first + i;
        const inside = frame >= 0 && frame < info.frames;
        const at = frame * step;
        if (!inside) into[i] = 0;
        else into[i] = info.channels === 1 ? sampleAt(at) : (sampleAt(at) + sampleAt(at + width)) / 2;
      }
    },
  };
}

/** Reads the sample at a byte offset as -1..1; a non-finite float reads as 0, one beyond full scale is clipped. */
export function sampleReader(view: DataView, info: WavInfo): (at: number) => number {
  if (info.float) {
    return (at) => {
      const value = view.getFloat32(at, true);
      return Number.isNaN(value) ? 0 : Math.max(-1, Math.min(1, value));
    };
  }
  switch (info.bits) {
    case 8:
      return (at) => (view.getUint8(at) - 128) / 128;
    case 16:
      return (at) => view.getInt16(at, true) / 32768;
    case 24:
      return (at) => ((view.getInt8(at + 2) << 16) | view.getUint16(at, true)) / 8388608;
    case 32:
      return (at) => view.getInt32(at, true) / 2147483648;
  }
}
