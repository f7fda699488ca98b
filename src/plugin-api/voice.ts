import type { AudioTarget } from "./delivery.ts";

/** A part of speech in a call: text, the message itself (its recording, else its text), or silence. */
export type VoicePart = { text: string } | { message: true } | { pauseMs: number };

/** RTP target of one call. `ssrc` is unique per call and per SRTP key. */
export interface VoiceTarget extends Pick<AudioTarget, "group" | "port" | "codec" | "ssrc" | "secrecy"> {
  /** Source port on the appliance. */
  sourcePort: number;
}

/** Plays speech in calls, each call separately and from the beginning. */
export interface CallVoice {
  /**
   * Synthesizes speech in the voice of the message; resolves with its length in ms. Rejects if no speech engine is
   * available. Call it again if it exceeds the host's call timeout.
   */
  prepare(parts: readonly VoicePart[], notificationId: string): Promise<number>;
  /** Opens the stream of a call; silent until `say`. */
  open(target: VoiceTarget): Promise<void>;
  /** Plays the parts, replacing what is playing; resolves with their length in ms when playback begins. */
  say(
    target: Pick<VoiceTarget, "group" | "port">,
    parts: readonly VoicePart[],
    notificationId: string,
  ): Promise<number>;
  /** Closes the stream of a call; an unknown target is ignored. */
  close(target: Pick<VoiceTarget, "group" | "port">): Promise<void>;
}
