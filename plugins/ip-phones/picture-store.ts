import { readFile } from "node:fs/promises";
import type { Clock } from "#plugin-api";
import { displayName, type PhoneDisplay } from "./phone-display.ts";
import { parsePictureFile } from "./picture-file.ts";
import { type FittedPicture, fitPicture } from "./picture-fitting.ts";

/** The pictures of messages as phones take them. */
export interface PictureStore {
  /** PNG of the picture at `path` for this display; null when it can't be shown there, which was told. */
  fitted(path: string, display: PhoneDisplay): Promise<Uint8Array | null>;
}

/** What pictures need. */
export interface PictureStoreDeps {
  clock: Clock;
  /** Name of the program that fits pictures. */
  program?: string;
  /** Why phones show text instead of pictures, in words; null once they show pictures again. */
  onAvailability(words: string | null): void;
  /** A picture that nobody can read, in words. */
  onError(words: string): void;
}

/** own choice: there are a dozen kinds of displays, and few messages have pictures at one time. */
const MAX_CACHED = 64;
const NO_PROGRAM = "pictures are shown as text: ffmpeg is not installed, which would make them fit";

/**
 * Makes the store: each picture is fitted once to each kind of display, when the first phone asks. One at a time, for
 * sound that is being sent needs the processors, too.
 */
export function createPictureStore({ clock, program, onAvailability, onError }: PictureStoreDeps): PictureStore {
  const kept = new Map<string, Promise<Uint8Array | null>>();
  let turn: Promise<unknown> = Promise.resolve();
  let isLacking = false;

  const note = ({ fault }: FittedPicture): void => {
    if ((fault === "no-program") === isLacking) return;
    isLacking = !isLacking;
    onAvailability(isLacking ? NO_PROGRAM : null);
  };

  async function make(path: string, display: PhoneDisplay): Promise<Uint8Array | null> {
    const bytes = await readFile(path).catch(() => null);
    const file = bytes && parsePictureFile(bytes);
    if (!file) {
      onError(bytes ? "the picture is no PNG, JPEG or GIF, or has too many pixels" : "the picture's file is gone");
      return null;
    }
    const fitted = await fitPicture(path, file, display, { clock, ...(program === undefined ? {} : { program }) });
    note(fitted);
    if (fitted.png) return fitted.png;
    if (fitted.fault === "unreadable")
      onError(`the picture begins like ${file.kind} but can't be read as such in time`);
    else if (file.kind === "png" && file.width <= display.width && file.height <= display.height) return bytes;
    return null;
  }

  const failed = (error: unknown): null => {
    onError(`the picture could not be made to fit: ${String(error)}`);
    return null;
  };

  return {
    fitted(path, display) {
      const key = `${displayName(display)} ${path}`;
      const known = kept.get(key) ?? turn.then(() => make(path, display)).catch(failed);
      if (!kept.has(key)) turn = known;
      kept.delete(key);
      kept.set(key, known);
      for (const oldest of kept.keys()) {
        if (kept.size <= MAX_CACHED) break;
        kept.delete(oldest);
      }
      return known;
    },
  };
}
