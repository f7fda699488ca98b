import type { AudioCodec } from "./delivery.ts";
import type { VoiceTarget } from "./voice.ts";

/** A call that someone placed to the appliance. */
export interface DialledCall {
  /** Identifies the call within the plugin, such as a SIP Call-ID. */
  callId: string;
  /** As dialled. */
  calledNumber: string;
  /** Number or name of the caller; empty if withheld. */
  callingNumber: string;
  /** What wrong PINs are counted by: the account that the telephone has proven, else the address that sent the call. */
  source: string;
  /** The plugin has verified the password of the telephone. A call manager's word about its callers is no proof. */
  isAuthenticated: boolean;
}

/** Whether a call is to be answered. */
export type DialResult =
  | { answer: true }
  | {
      answer: false;
      reason: "unknown-number" | "too-many-calls" | "locked";
      /** How long the caller is locked out after wrong PINs. */
      waitSeconds?: number;
    };

/**
 * Calls to the appliance. The plugin carries signalling and media; the host decides what a number does, speaks to the
 * caller and hears the voice. Requires `phone` in the manifest.
 */
export interface PhoneLine {
  /** Announces a call before it is answered. */
  dial(call: DialledCall): Promise<DialResult>;
  /** The call is answered, or its media changed; null while it is held. */
  connect(callId: string, target: VoiceTarget | null): Promise<void>;
  /** A packet of the caller's voice, in order. */
  hear(callId: string, codec: AudioCodec, payload: Uint8Array): void;
  /** A key that the caller pressed: a digit, `*` or `#`. */
  press(callId: string, key: string): void;
  /** The call is over. An unknown call is ignored. */
  end(callId: string): void;
  /** Called when the host ends a call. */
  onHangUp(handler: (callId: string) => void): void;
}
