import type { Fault } from "../base/errors.ts";
import type { Programme, ProgrammeLayout } from "./programme.ts";

/** A programme to be made; `recording` is a WAV file. */
export interface ProgrammeRequest {
  id: number;
  hash: string;
  layout: ProgrammeLayout;
  recording: Uint8Array | null;
}

/** The programme, the faults of the caller's input, or what went wrong inside. */
export type ProgrammeReply =
  | { id: number; programme: Programme }
  | { id: number; faults: readonly Fault[] }
  | { id: number; failure: unknown };
