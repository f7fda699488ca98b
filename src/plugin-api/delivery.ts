import type { SrtpMasterKey } from "../media/srtp.ts";

/**
 * Evidence for a delivery, in rising order; the last three end it without proof.
 * @source docs/decisions/0020-delivery-states.md
 */
export type OutcomeLevel = "sent" | "accepted" | "playing" | "heard" | "confirmed" | "failed" | "skipped" | "expired";

/**
 * Codecs of the streamer: G.711 µ-law (RTP payload type 0), G.711 A-law (8) or G.722 at 64 kbit/s (9; its RTP clock is
 * 8000, as in `rtpmap:9 G722/8000`, although it has 16,000 samples a second).
 * @source RFC 3551 table 4
 */
export type AudioCodec = "PCMU" | "PCMA" | "G722";

/**
 * RTP target of the streamer: 160 bytes every 20 ms. A plugin that opens its own stream chooses the codec; all streams
 * of a notification in one codec share one encoded copy, and all share one clock.
 */
export interface AudioTarget {
  /** Multicast group, or the device's own address for unicast. */
  group: string;
  port: number;
  /** In a delivery: the codec of the group the device may join, always PCMU. */
  codec: AudioCodec;
  ttl: number;
  ssrc: number;
  /** Source port on the appliance, where replies arrive. Any port if omitted. */
  sourcePort?: number;
  /** SRTP key of a call that negotiated encryption. */
  secrecy?: SrtpMasterKey;
  /**
   * Interface that multicast is sent from, by its name or its IPv4 address; by default the setting
   * `network.multicastInterface`.
   */
  networkInterface?: string;
}

/**
 * Settings of one notification that a device channel may honour.
 * @source docs/decisions/0008-notifications-and-templates.md
 */
export interface DeliveryProfile {
  /** `As-Is` keeps the device's volume. */
  volume: "As-Is" | "Maximum" | "Medium" | "Low";
  /** Name of a ring tone file on the phones, for messages without audio. */
  ringtone: string | null;
  /** False for audio-only messages: a device that plays the audio shows no text. */
  showsText: boolean;
  /** Subject and body form one text, see `joinSubjectAndBody`. */
  concatenatedText: boolean;
  /** How long a display shows the text, counted from when it appears; null for no limit. */
  durationMs: number | null;
  /** Scrolling on displays that support it; null for static text. */
  scroll: Scroll | null;
  /** Leave the text on the display after the audio ended. */
  persistentText: boolean;
  skipPhonesInUse: boolean;
}

/** Scrolling text. It stops at the first limit reached: `durationMs` or `repetitions`; then it stays static. */
export interface Scroll {
  /** Characters per second; null for the display's default. */
  speed: number | null;
  durationMs: number | null;
  repetitions: number | null;
}

/** Neutral settings. */
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

/** Subject and body as one text, separated by a newline. */
export function joinSubjectAndBody({ subject, body }: Pick<DeliveryItem["text"], "subject" | "body">): string {
  return [subject, body].filter((part) => part !== "").join("\n");
}

/** One delivery to one device. Structured-cloneable: it crosses threads. */
export interface DeliveryItem {
  deliveryId: number;
  notificationId: string;
  /** The target. A collaboration group appears with its name as identifier and its properties as attributes. */
  device: { id: string; deviceIdentifier: string; attributes: Readonly<Record<string, string>> };
  /** 0 highest … 9 lowest. */
  priority: number;
  class: "emergency" | "routine";
  /** Epoch ms after which the delivery is useless. */
  notAfter: number;
  /** Epoch ms at which the message was sent. */
  sentAt: number;
  /** Epoch ms at which the message expires; null for never. */
  expiresAt: number | null;
  /** Number of this repeat to recipients without a response, from 1; absent for the message itself. */
  repeat?: number;
  /** Id of the notification that this one follows up. */
  follows?: string;
  drill: boolean;
  /** `short` fits small displays (at most 100 characters). */
  text: { subject: string; body: string; short: string };
  /** Absolute local path of the prepared image; null without an image. */
  imagePath: string | null;
  /** Null for text-only messages. */
  audio: AudioTarget | null;
  /** Extra delay in ms, so that this device plays in sync with slower models. */
  holdMs?: number;
  profile: DeliveryProfile;
  /** Values of this plugin's `profile` fields from the notification profile and the sender, defaults filled in. */
  settings: Readonly<Record<string, unknown>>;
  /** 1 for the first attempt. */
  attempt: number;
  /**
   * Present if an earlier run of the plugin or the daemon already reached the device: do not send again, only follow up
   * (look for proof, silence the device on `stop`).
   */
  reached?: "sent" | "accepted" | "playing";
  /** Owner of the device; present for devices of people. */
  recipient?: {
    /** Argument of `confirm`. */
    id: string;
    name: string | null;
    /** Response options and the recipient's response page; null if the message asks for no response. */
    answers: { options: readonly string[]; url: string } | null;
    /** Opt-out page of this recipient; absent if opting out is not possible. */
    declineUrl?: string;
    /** Language that the person prefers, which `text` is in as far as the server wrote it; absent without a preference. */
    language?: string;
  };
}

/** Cancelled deliveries and the reason. */
export interface StopRequest {
  deliveryIds: number[];
  reason: "aborted" | "expired" | "preempted" | "ended";
}

/**
 * Details of an outcome. `reason` is text for people (`defineSentences`). `retryable` asks the host to retry. `last`: no further outcome
 * will follow; the delivery ends at this level. `gone`: the device no longer exists; the person's device is deactivated
 * with this reason. `passing`: with `retryable`, what failed is expected to pass, such as a busy server or a mailbox that asks
 * to come again; the host tries for as long as the message lives, with growing pauses. `afterwards`: late proof about a completed handover, such as a display receipt; raises the level at
 * any time. `returned`: an accepted message bounced; the delivery fails at any time. `noNetwork`: nothing could leave the
 * appliance; the host retries when the network changes, as long as the message lives. `textOnly`: the device shows the
 * text of a message with audio and does not play the audio. `unsupported`: the device has no means to present this item,
 * such as text without a display; an earlier failure keeps its reason. `inconclusive`: a failure that does not mean that
 * the device is silent: it was not contacted, or it is busy. `channelDown`: the channel's server or gateway could not be
 * reached, so that this says nothing about the device; recorded with the message by the extension's failure code.
 */
export interface OutcomeDetails {
  reason?: string;
  retryable?: boolean;
  passing?: boolean;
  /** Earliest retry in ms; the host's own backoff if omitted. */
  retryAfterMs?: number;
  last?: boolean;
  gone?: boolean;
  afterwards?: boolean;
  returned?: boolean;
  noNetwork?: boolean;
  channelDown?: boolean;
  textOnly?: boolean;
  unsupported?: boolean;
  inconclusive?: boolean;
  /** Playback start reported by the device (epoch ms), its model, and the delay applied. */
  started?: { at: number; model: string; heldMs?: number };
  /**
   * How well a microphone's recording of the room matches what was played: chance that a recording without the audio
   * matches as well, delay from the player to the microphone, and level over everything else in the recording.
   */
  match?: { pValue: number; delayMs: number; levelDb: number };
  /** Number of replays after the device dropped the stream. */
  askedAgain?: number;
}
