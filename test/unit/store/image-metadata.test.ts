import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { detectFileType } from "../../../src/store/file-type.ts";

/** An image of 40 x 20 pixels that ffmpeg writes. */
function image(codec: string, pixels: string, ...more: string[]): Buffer {
  const source = ["-f", "lavfi", "-i", "testsrc=size=40x20:rate=1", "-frames:v", "1"];
  return execFileSync("ffmpeg", [
    ...["-loglevel", "error", ...source, "-pix_fmt", pixels],
    ...more,
    ...["-c:v", codec, "-f", codec === "gif" ? "gif" : "image2pipe", "-"],
  ]);
}

/** A segment behind the first two bytes of a JPEG. */
function withSegment(jpeg: Buffer, marker: number, data: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(data.length + 2, 2);
  return Buffer.concat([jpeg.subarray(0, 2), head, data, jpeg.subarray(2)]);
}

/** A JPEG whose frame header names another number of channels; ffmpeg writes three. */
function withChannels(jpeg: Buffer, channels: number): Buffer {
  jpeg[jpeg.indexOf(Buffer.from([0xff, 0xc0])) + 9] = channels;
  return jpeg;
}

/** EXIF with one entry, the orientation. */
function exif(orientation: number): Buffer {
  const tiff = Buffer.from("4d4d002a00000008000101120003000000010000000000000000", "hex");
  tiff.writeUInt16BE(orientation, 18);
  return Buffer.concat([Buffer.from("Exif\0\0", "latin1"), tiff]);
}

function withChunk(png: Buffer, type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([png.subarray(0, 33), length, Buffer.from(type), data, Buffer.alloc(4), png.subarray(33)]);
}

const SIZE = { width: 40, height: 20 };
const dotsPerMetre = Buffer.from("00000b1300000b1301", "hex");

describe("the metadata of an image", () => {
  it.each([
    ["PNG", image("png", "rgb24"), { ...SIZE, colorSpace: "sRGB", depth: 8, compression: "Zip", progressive: false }],
    ["grey PNG", image("png", "gray"), { ...SIZE, colorSpace: "Gray", depth: 8 }],
    ["deep PNG", image("png", "rgb48be"), { ...SIZE, colorSpace: "sRGB", depth: 16 }],
    [
      "JPEG",
      image("mjpeg", "yuvj420p"),
      { ...SIZE, colorSpace: "sRGB", depth: 8, compression: "JPEG", progressive: false },
    ],
    ["grey JPEG", withChannels(image("mjpeg", "yuvj420p"), 1), { ...SIZE, colorSpace: "Gray", depth: 8 }],
    ["CMYK JPEG", withChannels(image("mjpeg", "yuvj420p"), 4), { ...SIZE, colorSpace: "CMYK", depth: 8 }],
    ["GIF", image("gif", "pal8"), { ...SIZE, colorSpace: "sRGB", depth: 8, compression: "LZW" }],
  ])("holds size, colours and compression: %s", (_kind, bytes, metadata) => {
    expect(detectFileType(bytes).metadata).toMatchObject(metadata);
  });

  it("holds the density of a PNG and of a JPEG", () => {
    const png = withChunk(image("png", "rgb24"), "pHYs", dotsPerMetre);
    expect(detectFileType(png).metadata).toMatchObject({ density: { x: 28.35, y: 28.35, unit: "cm" } });
    const jpeg = image("mjpeg", "yuvj420p");
    expect(detectFileType(jpeg).metadata).toMatchObject({ density: { x: 1, y: 1, unit: null } });
    jpeg.set([1, 0, 72, 0, 72], 13);
    expect(detectFileType(jpeg).metadata).toMatchObject({ density: { x: 72, y: 72, unit: "inch" } });
  });

  it.each([
    [1, { width: 40, height: 20 }],
    [3, { width: 40, height: 20 }],
    [6, { width: 20, height: 40 }],
    [8, { width: 20, height: 40 }],
  ])("holds the size as the orientation %i shows it", (orientation, size) => {
    const jpeg = withSegment(image("mjpeg", "yuvj420p"), 0xe1, exif(orientation));
    expect(detectFileType(jpeg)).toMatchObject({ contentType: "image/jpeg", metadata: { ...size, orientation } });
  });

  it.each([
    ["a PNG", image("png", "rgb24")],
    ["a JPEG", image("mjpeg", "yuvj420p")],
    ["a GIF", image("gif", "pal8")],
  ])("reads every beginning of %s without a fault", (_kind, bytes) => {
    for (let length = 0; length < Math.min(bytes.length, 400); length++)
      expect(detectFileType(bytes.subarray(0, length)).contentType).toMatch(/^(image|application)\//);
  });
});
