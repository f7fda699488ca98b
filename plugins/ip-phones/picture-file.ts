import { GIF } from "image-size/types/gif";
import { JPG } from "image-size/types/jpg";
import { PNG } from "image-size/types/png";

/** What the file of a picture says of itself. */
export interface PictureFile {
  kind: "png" | "jpeg" | "gif";
  /** Pixels as they are stored. */
  width: number;
  height: number;
  /** How it is to be turned, 1 as it is. @source Exif 2.32, tag 0x0112 */
  orientation: number;
}

const KINDS = [
  ["png", PNG],
  ["jpeg", JPG],
  ["gif", GIF],
] as const;
/** A small file may hold far more pixels than there is memory for. own choice: three times what a good camera takes */
export const MAX_PIXELS = 60_000_000;

/** Reads the head of a picture, all of the file or its first part; null for what is none, or has too many pixels. */
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
