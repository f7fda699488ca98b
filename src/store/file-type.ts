import { GIF } from "image-size/types/gif";
import { JPG } from "image-size/types/jpg";
import { PNG } from "image-size/types/png";
import { gifMetadata, jpegMetadata, pngMetadata } from "./image-metadata.ts";

/** Content type and metadata detected from the bytes of a file. */
export interface FileType {
  contentType: string;
  metadata: Record<string, unknown>;
}

/** The image types that phones and browsers show. */
const IMAGE_TYPES = [
  ["image/png", PNG, pngMetadata],
  ["image/jpeg", JPG, jpegMetadata],
  ["image/gif", GIF, gifMetadata],
] as const;

/** Values of EXIF from here on turn the image by a quarter. @source CIPA DC-008 (Exif 2.32), 4.6.4.A Orientation */
const FIRST_TURNED_ORIENTATION = 5;

/** Magic bytes of the supported audio formats, as Latin-1 text. */
const AUDIO_SIGNATURES: readonly (readonly [RegExp, string])[] = [
  [/^RIFF[\s\S]{4}WAVE/, "audio/wav"],
  [/^OggS/, "audio/ogg"],
  [/^fLaC/, "audio/flac"],
  [/^(ID3|\xff[\xfb\xf3\xf2])/, "audio/mpeg"],
];

/** Detects the type of a file from its first bytes (up to 64 KiB); `application/octet-stream` if unknown. */
export function detectFileType(head: Uint8Array): FileType {
  const start = Buffer.from(head.subarray(0, 16)).toString("latin1");
  const sound = AUDIO_SIGNATURES.find(([signature]) => signature.test(start));
  if (sound) return { contentType: sound[1], metadata: sound[1] === "audio/wav" ? readWavMetadata(head) : {} };
  try {
    const image = IMAGE_TYPES.find(([, { validate }]) => validate(head));
    if (image) {
      const [contentType, { calculate }, readMetadata] = image;
      return { contentType, metadata: { ...shownSize(calculate(head)), ...readMetadata(head) } };
    }
  } catch {
    // An image by its magic bytes that cannot be decoded.
  }
  return { contentType: "application/octet-stream", metadata: {} };
}

/** Width and height as the image is shown: its EXIF orientation is obeyed. */
function shownSize(size: { width: number; height: number; orientation?: number }): Record<string, number> {
  const { width, height, orientation } = size;
  if (orientation === undefined) return { width, height };
  const isTurned = orientation >= FIRST_TURNED_ORIENTATION;
  return isTurned ? { width: height, height: width, orientation } : { width, height, orientation };
}

/** Reads the format chunk at its usual offset. @source RFC 2361, Microsoft WAVE: offsets of the fmt chunk */
function readWavMetadata(head: Uint8Array): Record<string, unknown> {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength);
  if (bytes.length < 36 || bytes.toString("latin1", 12, 16) !== "fmt ") return {};
  return {
    channels: bytes.readUInt16LE(22),
    sampleRate: bytes.readUInt32LE(24),
    bitsPerSample: bytes.readUInt16LE(34),
  };
}
