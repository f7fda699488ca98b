import type { FieldError } from "../lib/errors.ts";
import type { Codec } from "./codecs.ts";
import type { AudioLayout, RenderedAudio } from "./rendered-audio.ts";

/** A render job; `recording` and `announcement` are WAV files. */
export interface RenderRequest {
  id: number;
  hash: string;
  layout: AudioLayout;
  recording: Uint8Array | null;
  announcement: Uint8Array | null;
  /** Set when the audio is already rendered and is wanted in another codec, with this many packets. */
  rendition: { codec: Codec; packets: number } | null;
}

/**
 * The rendered audio, a rendition (whose later part may still be arriving), the errors of the caller's input, or an
 * internal failure.
 */
export type RenderReply =
  | { id: number; renderedAudio: RenderedAudio }
  | { id: number; payload: Uint8Array }
  | { id: number; fieldErrors: readonly FieldError[] }
  | { id: number; failure: unknown };
