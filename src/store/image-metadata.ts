/**
 * What the first bytes of an image say of it, beside its size. Absent members are not in the file, or not within these bytes.
 * Names and values are those of common image tools.
 */
export interface ImageMetadata {
  colorSpace?: "sRGB" | "Gray" | "CMYK";
  /** Bits per channel, of a palette bits per pixel. */
  depth?: number;
  compression?: "Zip" | "JPEG" | "LZW";
  /** True if the image is shown with growing detail while it loads. */
  progressive?: boolean;
  /** Pixels per unit; without a unit the aspect ratio of a pixel. */
  density?: { x: number; y: number; unit: "inch" | "cm" | null };
}

const METRES_PER_CM = 100;

/** @source PNG Specification (Third Edition), 11.2.1 IHDR and 11.3.4.3 pHYs */
export function pngMetadata(head: Uint8Array): ImageMetadata {
  const bytes = bufferOf(head);
  if (bytes.length < 29) return {};
  const [depth = 0, colorType = 0] = bytes.subarray(24, 26);
  const density = pngDensity(bytes);
  return {
    colorSpace: colorType === 0 || colorType === 4 ? "Gray" : "sRGB",
    depth,
    compression: "Zip",
    progressive: bytes[28] === 1,
    ...(density ? { density } : {}),
  };
}

function pngDensity(bytes: Buffer): ImageMetadata["density"] | null {
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const type = bytes.toString("latin1", at + 4, at + 8);
    if (type === "IDAT" || type === "IEND") return null;
    if (type === "pHYs" && length === 9 && at + 17 <= bytes.length) {
      const isMetric = bytes[at + 16] === 1;
      const [x, y] = [bytes.readUInt32BE(at + 8), bytes.readUInt32BE(at + 12)];
      return isMetric ? { x: x / METRES_PER_CM, y: y / METRES_PER_CM, unit: "cm" } : { x, y, unit: null };
    }
    at += length + 12;
  }
  return null;
}

/** @source ITU-T T.81, B.2.2 frame header; ITU-T T.871, 10.1 JFIF header */
export function jpegMetadata(head: Uint8Array): ImageMetadata {
  const bytes = bufferOf(head);
  const metadata: ImageMetadata = { compression: "JPEG" };
  for (let at = 2; at + 4 <= bytes.length && bytes[at] === 0xff; ) {
    const marker = bytes[at + 1] ?? 0;
    // Fill bytes may precede a marker.
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const length = bytes.readUInt16BE(at + 2);
    if (length < 2 || marker === 0xda) break;
    if (
      marker === 0xe0 &&
      length >= 14 &&
      at + 16 <= bytes.length &&
      bytes.toString("latin1", at + 4, at + 8) === "JFIF"
    )
      metadata.density = jfifDensity(bytes, at);
    if (isFrame(marker) && at + 10 <= bytes.length) {
      const channels = bytes[at + 9];
      metadata.colorSpace = channels === 1 ? "Gray" : channels === 4 ? "CMYK" : "sRGB";
      metadata.depth = bytes[at + 4] ?? 8;
      metadata.progressive = [0xc2, 0xc6, 0xca, 0xce].includes(marker);
      break;
    }
    at += 2 + length;
  }
  return metadata;
}

/** SOF0 to SOF15, without DHT, JPG and DAC. */
function isFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
}

function jfifDensity(bytes: Buffer, at: number): { x: number; y: number; unit: "inch" | "cm" | null } {
  const unit = ([null, "inch", "cm"] as const)[bytes[at + 11] ?? 0] ?? null;
  return { x: bytes.readUInt16BE(at + 12), y: bytes.readUInt16BE(at + 14), unit };
}

/** @source GIF89a Specification, 18 Logical Screen Descriptor */
export function gifMetadata(head: Uint8Array): ImageMetadata {
  const flags = head[10];
  if (flags === undefined) return {};
  return {
    colorSpace: "sRGB",
    depth: (flags & 0x80) === 0 ? ((flags >> 4) & 7) + 1 : (flags & 7) + 1,
    compression: "LZW",
  };
}

function bufferOf(head: Uint8Array): Buffer {
  return Buffer.from(head.buffer, head.byteOffset, head.byteLength);
}
