import type { Sentence, SentenceLanguage } from "../../lib/sentences/sentences.ts";
import type { DeliveryItem, OutcomeDetails } from "../../plugin-api/index.ts";
import type { DeliveryLevel } from "../../resources/notifications/delivery-levels.ts";
import type { DeliveryOutcome } from "./delivery-providers.ts";

export type ItemDevice = DeliveryItem["device"];

/** Channel of a user device, as in activity types. */
export type UserChannel = "sms" | "email" | "call" | "push";

/** What the message's counters include of a delivery. */
export type CountedEvents = Readonly<Record<"sent" | "answered" | "failed", boolean>>;

/** Levels that end a delivery without proof. */
export type EndLevel = "failed" | "skipped" | "expired";

/** The active broadcast that a delivery belongs to. */
export interface DeliveryOwner {
  readonly id: string;
  /** The message's text in a language of its recipients. */
  textIn(language: SentenceLanguage): DeliveryItem["text"];
  /** Waits for a device that another message holds, instead of being skipped; a bell does so until its time. */
  readonly canQueue: boolean;
  /** True when a delivery takes its device from a less urgent message. */
  canPreempt(delivery: Delivery): boolean;
  /** Rank among bells, 1 the most urgent; null for other messages. */
  readonly rank: number | null;
  /** Scheduled start, epoch ms; null to start as soon as possible. */
  readonly soundsAt: number | null;
  /** All its devices start together. */
  readonly synchronizedStart: boolean;
  /** No more devices are asked. */
  readonly closed: boolean;
  /** True when a delivery needs its device exclusively. */
  requiresDevice(delivery: Delivery): boolean;
  /** The delivery was handed to its channel, or waits for its device: the hand-over need not wait for it any more. */
  markDispatched(delivery: Delivery): void;
  /** Ends a delivery; the level applies only where nothing better is proven. Has no effect on an ended one. */
  end(delivery: Delivery, level: EndLevel, reason: Sentence): void;
  handleOutcome(delivery: Delivery, outcome: DeliveryOutcome): void;
  /** The item for the channel. */
  createItem(delivery: Delivery, device: ItemDevice): DeliveryItem;
}

/**
 * State of a delivery: `queued` for its channel, `waiting-for-device` until its device is free, `in-flight` with the
 * channel without a report, `backing-off` until the next attempt, `monitoring` by the channel, `ended`.
 */
export type DispatchState = "queued" | "waiting-for-device" | "in-flight" | "backing-off" | "monitoring" | "ended";

/**
 * How a device gets the audio: it joins the multicast `group`; its channel opens a stream of its `own`; it is called
 * and gets a stream by that `call`, which has to be ended; a person is called and hears it from the beginning in a
 * `talk`; or `nothing`.
 */
export type AudioMode = "group" | "own" | "call" | "talk" | "nothing";

/** Playback reports of a device: when its audio started, how often it was asked again, and what a microphone recorded. */
export type DevicePlaybackReport = Pick<OutcomeDetails, "started" | "askedAgain" | "match">;

/** Level and times of a delivery, as far as they are proven, and the reason for the level. */
export type ProvenState = Readonly<
  Pick<Delivery, "level" | "reason" | "sentAt" | "acceptedAt" | "playingAt" | "provenAt">
>;

/** In-memory state of a ledger row during its broadcast; rows are written from it. Times are epoch ms. */
export interface Delivery {
  readonly pk: number;
  readonly owner: DeliveryOwner;
  /** Internal key of the on-premises device; null for user devices, and once it is deleted. */
  readonly device: number | null;
  /** Internal key of the user device; null for on-premises devices, and once it is deleted. */
  readonly userDevice: number | null;
  readonly provider: string;
  /** Channel of a user device; null for on-premises devices. */
  readonly userChannel: UserChannel | null;
  /** What the message's counters include of it. */
  counted: CountedEvents;
  readonly audioMode: AudioMode;
  readonly priority: number;
  /** The device did not answer the last messages: it is asked after the others. */
  readonly previouslyFailed: boolean;
  level: DeliveryLevel;
  reason: Sentence | null;
  /** Reason of the last attempt, where the channel reported that it failed; null before one and after a proof. */
  failure: Sentence | null;
  /** The device shows the text and plays no audio. Known once it has accepted the message. */
  textOnly: boolean;
  attempt: number;
  /** Attempts of earlier runs and those without a network, which do not count for the maximum. */
  earlierAttempts: number;
  /** An earlier run has, or may have, reached the device: it is only monitored. */
  reached: boolean;
  late: boolean;
  /** It was handed to the channel with audio. */
  audible: boolean;
  sentAt: number | null;
  acceptedAt: number | null;
  playingAt: number | null;
  provenAt: number | null;
  endedAt: number | null;
  retryAt: number | null;
  /** What was proven before a repeat, which the row keeps; null without proof. */
  previousProof: ProvenState | null;
  /** It has expired; its channel may still say what became of the attempt. */
  expiring: boolean;
  dispatchState: DispatchState;
  dispatched: boolean;
  /** It backs off because nothing could leave the appliance, and is retried as soon as the network changes. */
  awaitsNetwork?: boolean;
  /** Why its channel itself could not be reached, since the row was last written; null when it could. */
  channelDown: Sentence | null;
  /** The start of the audio need not wait for it: it has joined, or failed once. */
  joinState: "no" | "joined" | "failed";
  /** Reports of the device since the row was last written, beyond its level. */
  deviceReport?: DevicePlaybackReport | undefined;
  /** Signs of the device since the row was last written; `packets`: a zone got them, and cannot answer. */
  deviceEvidence: "life" | "packets" | "silence" | null;
}
