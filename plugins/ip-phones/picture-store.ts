import { readFile } from "node:fs/promises";
import type { Clock } from "#plugin-api";
import { displayName, type PhoneDisplay } from "./phone-display.ts";
import { parsePictureFile } from "./picture-file.ts";
import { type FittedPicture, fitPicture } from "./picture-fitting.ts";
import { sentence } from "./sentences.ts";

/** Message pictures fitted to displays. */
export interface PictureStore {
  /** PNG of the picture at `path` for this display; null if it cannot be shown, which is reported. */
  fitted(path: string, display: PhoneDisplay): Promise<Uint8Array | null>;
}

export interface PictureStoreDeps {
  clock: Clock;
  /** Name of the ffmpeg program. */
  program?: string;
  /** Why phones show text instead of pictures; null once pictures work again. */
  onAvailability(reason: string | null): void;
  /** A picture that cannot be shown. */
  onError(message: string): void;
}

/** Fitted pictures in memory: there are a dozen display types and few pictures at a time. */
const MAX_CACHED = 64;
const NO_PROGRAM = sentence("pictures-unavailable");

/**
 * Creates the store. Each picture is fitted once per display type, when the first phone requests it; one at a time,
 * because audio streaming needs the CPU as well.
 */
export function createPictureStore({ clock, program, onAvailability, onError }: PictureStoreDeps): PictureStore {
  const cached = new Map<string, Promise<Uint8Array | null>>();
  let pending: Promise<unknown> = Promise.resolve();
  let isProgramMissing = false;

  const note = ({ error }: FittedPicture): void => {
    if ((error === "no-program") === isProgramMissing) return;
    isProgramMissing = !isProgramMissing;
    onAvailability(isProgramMissing ? NO_PROGRAM : null);
  };

  async function make(path: string, display: PhoneDisplay): Promise<Uint8Array | null> {
    const bytes = await readFile(path).catch(() => null);
    const file = bytes && parsePictureFile(bytes);
    if (!file) {
      onError(bytes ? sentence("picture-invalid") : sentence("picture-missing"));
      return null;
    }
    const fitted = await fitPicture(path, file, display, { clock, ...(program === undefined ? {} : { program }) });
    note(fitted);
    if (fitted.png) return fitted.png;
    if (fitted.error === "unreadable") onError(sentence("picture-unreadable", { kind: file.kind }));
    else if (file.kind === "png" && file.width <= display.width && file.height <= display.height) return bytes;
    return null;
  }

  const failed = (error: unknown): null => {
    onError(sentence("picture-failed", { error: String(error) }));
    return null;
  };

  return {
    fitted(path, display) {
      const key = `${displayName(display)} ${path}`;
      const known = cached.get(key) ?? pending.then(() => make(path, display)).catch(failed);
      if (!cached.has(key)) pending = known;
      cached.delete(key);
      cached.set(key, known);
      for (const oldest of cached.keys()) {
        if (cached.size <= MAX_CACHED) break;
        cached.delete(oldest);
      }
      return known;
    },
  };
}
