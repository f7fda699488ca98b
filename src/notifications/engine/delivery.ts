import type { DeliveryItem, OutcomeDetails } from "../../plugin-api/index.ts";
import type { DeliveryLevel } from "../../resources/notifications/delivery-levels.ts";
import type { DeliveryOutcome } from "./delivery-providers.ts";

/** A device as its channel needs to know it. */
export type ItemDevice = DeliveryItem["device"];

/** The channel by which a device of a user is reached, as diary words begin. */
export type UserChannel = "sms" | "email" | "call" | "push";

/** What the message's counters have of a delivery. */
export type CountedEvents = Readonly<Record<"sent" | "answered" | "failed", boolean>>;

/** Levels that end a delivery without proof. */
export type EndLevel = "failed" | "skipped" | "expired";

/** The broadcast on air that a delivery belongs to. */
export interface DeliveryOwner {
  readonly id: string;
  /** Waits for a device that another message holds, instead of being skipped; a bell does until its moment. */
  readonly canQueue: boolean;
  /** True when a delivery takes its device from something less urgent. */
  canPreempt(delivery: Delivery): boolean;
  /** How urgent a bell is among bells, 1 most; null for anything else. */
  readonly rank: number | null;
  /** Epoch ms at which it is to sound; null for what sounds as soon as can be. */
  readonly soundsAt: number | null;
  /** All its devices begin together. */
  readonly synchronizedStart: boolean;
  /** Nobody is to be asked any more. */
  readonly closed: boolean;
  /** True when a device has to be its own while it is reached. */
  requiresDevice(delivery: Delivery): boolean;
  /** The delivery was given to its channel, or waits for its device: nobody waits for it to be asked any more. */
  markDispatched(delivery: Delivery): void;
  /** Ends a delivery; the level applies only where nothing better is proven. One that has ended stays as it is. */
  end(delivery: Delivery, level: EndLevel, reason: string): void;
  handleOutcome(delivery: Delivery, outcome: DeliveryOutcome): void;
  /** What the channel gets. */
  createItem(delivery: Delivery, device: ItemDevice): DeliveryItem;
}

/**
 * Where a delivery is: `queued` for its channel, `waiting-for-device` until its device is free, `in-flight` with the channel and without a
 * word of it, `backing-off` until the next try, `monitoring` by the channel, `ended`.
 */
export type DispatchState = "queued" | "waiting-for-device" | "in-flight" | "backing-off" | "monitoring" | "ended";

/**
 * How a device gets the sound: it joins the pooled `group`; its channel has a stream of its `own` opened; it is given one by
 * a `call`, which has to be ended; a person is called, who hears it in a `talk` from its beginning; or not at all.
 */
export type AudioMode = "group" | "own" | "call" | "talk" | "nothing";

/** What a device says of itself: when its sound began, and how often it was asked again. */
export type DevicePlaybackReport = Pick<OutcomeDetails, "started" | "askedAgain">;

/** Level and times of a delivery, as far as they are proven. */
export type ProvenState = Readonly<Pick<Delivery, "level" | "sentAt" | "acceptedAt" | "playingAt" | "provenAt">>;

/** A row of the ledger while its broadcast is on air; rows are written from it. Times are epoch ms. */
export interface Delivery {
  readonly pk: number;
  readonly owner: DeliveryOwner;
  /** Internal key of the device of an appliance; null for devices of users, and when it is gone. */
  readonly device: number | null;
  /** Internal key of the device of a user; null for devices of appliances, and when it is gone. */
  readonly userDevice: number | null;
  readonly provider: string;
  /** By which channel a device of a user is reached; null for devices of appliances. */
  readonly userChannel: UserChannel | null;
  /** What the message's counters have of it. */
  counted: CountedEvents;
  readonly audioMode: AudioMode;
  readonly priority: number;
  /** The device did not answer the last messages: it is asked after the others. */
  readonly previouslyFailed: boolean;
  level: DeliveryLevel;
  reason: string | null;
  attempt: number;
  /** Tries of earlier runs, which the cap on tries does not count. */
  readonly earlierAttempts: number;
  /** An earlier run of the appliance has, or may have, reached the device: it is only followed up. */
  reached: boolean;
  late: boolean;
  /** It was given to the channel with sound. */
  audible: boolean;
  sentAt: number | null;
  acceptedAt: number | null;
  playingAt: number | null;
  provenAt: number | null;
  endedAt: number | null;
  retryAt: number | null;
  /** What was proven before a repeat, which the row keeps; null when nothing was. */
  previousProof: ProvenState | null;
  dispatchState: DispatchState;
  dispatched: boolean;
  /** The start of the sound need not wait for it: it has joined, or failed once. */
  joinState: "no" | "joined" | "failed";
  /** What the device has said since the row was last written, beyond its level. */
  deviceReport?: DevicePlaybackReport | undefined;
  /** What there was of the device since the row was last written; `packets`: a zone got them, and can't answer. */
  deviceEvidence: "life" | "packets" | "silence" | null;
}
