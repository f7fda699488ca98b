import { GIF } from "image-size/types/gif";
import { JPG } from "image-size/types/jpg";
import { PNG } from "image-size/types/png";

/** Properties of an image file. */
export interface PictureFile {
  kind: "png" | "jpeg" | "gif";
  /** Pixels as stored. */
  width: number;
  height: number;
  /** Exif orientation, 1 for upright. @source Exif 2.32, tag 0x0112 */
  orientation: number;
}

const KINDS = [
  ["png", PNG],
  ["jpeg", JPG],
  ["gif", GIF],
] as const;
/** A small file may decode to more pixels than memory holds; three times the resolution of a good camera. */
export const MAX_PIXELS = 60_000_000;

/** Parses the head of an image file; null if invalid or too large. */
export function parsePictureFile(bytes: Uint8Array): PictureFile | null {
  try {
    const found = KINDS.find(([, { validate }]) => validate(bytes));
    if (!found) return null;
    const { width, height, orientation = 1 } = found[1].calculate(bytes);
    if (!(width > 0 && height > 0 && width * height <= MAX_PIXELS)) return null;
    return { kind: found[0], width, height, orientation: orientation >= 1 && orientation <= 8 ? orientation : 1 };
  } catch {
    return null;
  }
}
