import { readFile } from "node:fs/promises";
import type { PhoneModel } from "./phone-models.ts";

/** A PNG and its size in pixels. */
export interface PageImage {
  bytes: Uint8Array;
  width: number;
  height: number;
}

/** Reads an image file; null when it is gone or no PNG. */
export async function loadImage(path: string): Promise<PageImage | null> {
  const bytes = await readFile(path).catch(() => null);
  if (!bytes || bytes.length < 24 || bytes.toString("latin1", 0, 8) !== "\x89PNG\r\n\x1a\n") return null;
  return { bytes, width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

/**
 * Whether a phone can show the image: it tells its display as `width,height,depth,kind` in the header
 * x-CiscoIPPhoneDisplay, and its model says whether it shows images at all.
 */
export function fitsDisplay(image: PageImage, model: PhoneModel, display: string): boolean {
  if (!model.image) return false;
  const [, width, height] = /^(\d{1,5}),(\d{1,5}),/.exec(display) ?? [];
  const room = width === undefined ? model.image : { width: Number(width), height: Number(height) };
  return image.width <= room.width && image.height <= room.height;
}
