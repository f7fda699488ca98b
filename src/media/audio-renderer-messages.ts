import type { FieldError } from "../lib/errors.ts";
import type { Codec } from "./codecs.ts";
import type { AudioLayout, RenderedAudio } from "./rendered-audio.ts";

/** A programme to be made; `recording` and `announcement` are WAV files. */
export interface RenderRequest {
  id: number;
  hash: string;
  layout: AudioLayout;
  recording: Uint8Array | null;
  announcement: Uint8Array | null;
  /** Set for one that is there already and is wanted in this codec, too, as so many packets. */
  rendition: { codec: Codec; packets: number } | null;
}

/** The programme, its rendition (whose later part may still come in), the faults of the caller's input, or what went wrong inside. */
export type RenderReply =
  | { id: number; programme: RenderedAudio }
  | { id: number; payload: Uint8Array }
  | { id: number; faults: readonly FieldError[] }
  | { id: number; failure: unknown };
