import type { SrtpMasterKey } from "../media/srtp.ts";

/** How far a delivery is proven, in rising order; the last three end it without proof. @source interfaces.md, Ledger levels */
export type OutcomeLevel = "sent" | "accepted" | "playing" | "heard" | "confirmed" | "failed" | "skipped" | "expired";

/**
 * How the core's streamer encodes: G.711 µ-law (RTP payload type 0), G.711 A-law (8) or G.722 at 64 kbit/s (9; its RTP
 * clock is 8000, too, as in `rtpmap:9 G722/8000`, though 16,000 samples a second are sent). @source RFC 3551 table 4
 */
export type AudioCodec = "PCMU" | "PCMA" | "G722";

/**
 * Where the core's streamer sends a broadcast's audio: RTP, 160 bytes every 20 ms. A plugin that opens a stream of its own
 * chooses the codec for each; all streams of a message in one codec share one rendition, and all have one clock.
 */
export interface AudioTarget {
  /** Multicast group, or the device's own address for unicast. */
  group: string;
  port: number;
  /** Of a delivery: that of the group it may join, always PCMU. */
  codec: AudioCodec;
  ttl: number;
  ssrc: number;
  /** Port of the appliance that the packets come from; whoever listens there gets the answers. Any port unless given. */
  sourcePort?: number;
  /** What the packets are encrypted with, for a call that has agreed on it. */
  secrecy?: SrtpMasterKey;
}

/** The settings of one broadcast that a device channel may honour. @source decisions.md 8 (notification profile) */
export interface DeliveryProfile {
  /** `As-Is` leaves the device's volume alone. */
  volume: "As-Is" | "Maximum" | "Medium" | "Low";
  /** Name of a file of the phones', for messages that have no sound there. */
  ringtone: string | null;
  /** False for a message of sound alone: what plays it shows nothing. */
  showsText: boolean;
  /** Subject and body are one text: see `oneText`. */
  concatenatedText: boolean;
  /** How long a display shows the text, from when it does; null for no limit of its own. */
  durationMs: number | null;
  /** How text runs across a display that can scroll; null where it is to stand still. */
  scroll: Scroll | null;
  /** Leave the text on the display after the audio ended. */
  persistentText: boolean;
  skipPhonesInUse: boolean;
}

/** A text that runs across a display. own choice: until the first of both ends is there, then it stands still. */
export interface Scroll {
  /** Characters a second; null for the display's own pace. */
  speed: number | null;
  durationMs: number | null;
  repetitions: number | null;
}

/** The settings that change nothing. */
export const DEFAULT_PROFILE: DeliveryProfile = {
  volume: "As-Is",
  ringtone: null,
  showsText: true,
  concatenatedText: false,
  durationMs: null,
  scroll: null,
  persistentText: false,
  skipPhonesInUse: false,
};

/** Subject and body as one text, the subject first. */
export function joinSubjectAndBody({ subject, body }: Pick<DeliveryItem["text"], "subject" | "body">): string {
  return [subject, body].filter((part) => part !== "").join("\n");
}

/** One device to reach. Plain values only: it crosses threads. */
export interface DeliveryItem {
  deliveryId: number;
  notificationId: string;
  /** What it is to reach; a group of another system by its name, with its properties as attributes. */
  device: { id: string; deviceIdentifier: string; attributes: Readonly<Record<string, string>> };
  /** 0 highest … 9 lowest. */
  priority: number;
  class: "emergency" | "routine";
  /** Epoch ms after which the delivery is of no use. */
  notAfter: number;
  /** Epoch ms at which the message was sent. */
  sentAt: number;
  /** Epoch ms from which on what it says holds no more; null for never. */
  expiresAt: number | null;
  /** Which repeat this is to those who have not answered, 1 the first; absent for the message itself. */
  repeat?: number;
  /** Id of the message that this one continues. */
  follows?: string;
  drill: boolean;
  /** `short` fits small displays (at most 100 characters). */
  text: { subject: string; body: string; short: string };
  /** Absolute path on this machine of the prepared image, null when the message has none. */
  imagePath: string | null;
  /** Null when the message is text only. */
  audio: AudioTarget | null;
  /** Ms by which it is to be held back beyond what it needs, so that it sounds together with slower models. */
  holdMs?: number;
  profile: DeliveryProfile;
  /** What the message's profile and its sender say of this plugin, by the fields of its `profile`, defaults filled in. */
  settings: Readonly<Record<string, unknown>>;
  /** 1 for the first try. */
  attempt: number;
  /**
   * Present when an earlier run of the plugin or of the appliance has already reached the device: don't ask it again,
   * only follow it up (look for proof, silence it when told to stop).
   */
  reached?: "sent" | "accepted" | "playing";
  /** Whose device it is; present for devices of people. */
  recipient?: {
    /** For `confirm`. */
    id: string;
    name: string | null;
    /** What the message asks, and the page on which this recipient answers; null when it asks nothing. */
    answers: { options: readonly string[]; url: string } | null;
    /** The page on which this recipient declines further messages of its kind; absent where that can't be. */
    declineUrl?: string;
  };
}

/** Deliveries that are called off, and why. */
export interface StopRequest {
  deliveryIds: number[];
  reason: "aborted" | "expired" | "preempted" | "ended";
}

/**
 * What a plugin knows of a delivery; `reason` is in words for people, `retryable` asks the host to try again, `last` says
 * that nothing more will be known: the delivery ends with this level. `gone` says that there is no such device any more: a
 * person's device is switched off, with these words. `afterwards`: it was learned of what had been taken, such as that it
 * was shown; the level rises, however late. `returned`: what had been taken has come back, however late; the delivery has
 * failed after all.
 */
export interface OutcomeDetails {
  reason?: string;
  retryable?: boolean;
  /** Ms before which another try makes no sense; the host's own pauses unless given. */
  retryAfterMs?: number;
  last?: boolean;
  gone?: boolean;
  afterwards?: boolean;
  returned?: boolean;
  /** When the device says that its sound began (epoch ms), its model, and by how much it was held back. */
  started?: { at: number; model: string; heldMs?: number };
  /** How often the device was asked again because it had dropped the sound. */
  askedAgain?: number;
}
