import type { AudioTarget } from "./delivery.ts";

/** What is said in a call: words, the message itself (its recording, else its words), or silence. */
export type VoicePart = { text: string } | { message: true } | { pauseMs: number };

/** Where one call listens. `ssrc` is the call's own, and another for each stream that one secret encrypts. */
export interface VoiceTarget extends Pick<AudioTarget, "group" | "port" | "codec" | "ssrc" | "secrecy"> {
  /** Port of the appliance that the packets come from. */
  sourcePort: number;
}

/** Speaks in calls, to each person by itself and from the beginning. */
export interface CallVoice {
  /**
   * Makes ready what is to be said, in the voice of the message; resolves with its length in ms. Rejects in words where
   * nothing can speak. May be asked again when it takes longer than the host is waited for.
   */
  prepare(parts: readonly VoicePart[], notificationId: string): Promise<number>;
  /** Opens the stream of a call, which is silent until something is said. */
  open(target: VoiceTarget): Promise<void>;
  /** Says this from its beginning, in the place of what is being said; resolves with its length in ms once it begins. */
  say(
    target: Pick<VoiceTarget, "group" | "port">,
    parts: readonly VoicePart[],
    notificationId: string,
  ): Promise<number>;
  /** Ends the stream of a call; one that there is not is left alone. */
  close(target: Pick<VoiceTarget, "group" | "port">): Promise<void>;
}
