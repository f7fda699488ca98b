import type { DeliveryItem, OutcomeDetails } from "../plugin-api/index.ts";
import type { DeliveryLevel } from "../resources/broadcasts/delivery-levels.ts";
import type { Outcome } from "./providers.ts";

/** A device as its channel needs to know it. */
export type ReachedDevice = DeliveryItem["device"];

/** The channel by which a device of a user is reached, as diary words begin. */
export type Sending = "sms" | "email" | "call" | "push";

/** What the message's counters have of a delivery. */
export type Counted = Readonly<Record<"sent" | "answered" | "failed", boolean>>;

/** Levels that end a delivery without proof. */
export type EndLevel = "failed" | "skipped" | "expired";

/** The broadcast on air that a delivery belongs to. */
export interface DeliveryOwner {
  readonly id: string;
  /** Waits for a device that another message holds, instead of being skipped; a bell does until its moment. */
  readonly mayWait: boolean;
  /** True when a delivery takes its device from something less urgent. */
  mayPreempt(delivery: Delivery): boolean;
  /** How urgent a bell is among bells, 1 most; null for anything else. */
  readonly rank: number | null;
  /** Epoch ms at which it is to sound; null for what sounds as soon as can be. */
  readonly soundsAt: number | null;
  /** All its devices begin together. */
  readonly isTogether: boolean;
  /** Nobody is to be asked any more. */
  readonly closed: boolean;
  /** True when a device has to be its own while it is reached. */
  takesDevice(delivery: Delivery): boolean;
  /** The delivery was given to its channel, or waits for its device: nobody waits for it to be asked any more. */
  asked(delivery: Delivery): void;
  /** Ends a delivery; the level applies only where nothing better is proven. One that has ended stays as it is. */
  end(delivery: Delivery, level: EndLevel, reason: string): void;
  takeOutcome(delivery: Delivery, outcome: Outcome): void;
  /** What the channel gets. */
  item(delivery: Delivery, device: ReachedDevice): DeliveryItem;
}

/**
 * Where a delivery is: `queued` for its channel, `held` until its device is free, `out` with the channel and without a
 * word of it, `rests` until the next try, `followed` by the channel, `over`.
 */
export type DeliveryPlace = "queued" | "held" | "out" | "rests" | "followed" | "over";

/**
 * How a device gets the sound: it joins the pooled `group`; its channel has a stream of its `own` opened; it is given one by
 * a `call`, which has to be ended; a person is called, who hears it in a `talk` from its beginning; or not at all.
 */
export type Hearing = "group" | "own" | "call" | "talk" | "nothing";

/** What a device says of itself: when its sound began, and how often it was asked again. */
export type DeviceWords = Pick<OutcomeDetails, "started" | "askedAgain">;

/** Level and times of a delivery, as far as they are proven. */
export type ProvenBefore = Readonly<Pick<Delivery, "level" | "sentAt" | "acceptedAt" | "playingAt" | "provenAt">>;

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
  readonly sending: Sending | null;
  /** What the message's counters have of it. */
  counted: Counted;
  readonly hears: Hearing;
  readonly priority: number;
  /** The device did not answer the last messages: it is asked after the others. */
  readonly knownBad: boolean;
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
  before: ProvenBefore | null;
  place: DeliveryPlace;
  asked: boolean;
  /** The start of the sound need not wait for it: it has joined, or failed once. */
  joined: "no" | "joined" | "failed";
  /** What the device has said since the row was last written, beyond its level. */
  said?: DeviceWords | undefined;
  /** What there was of the device since the row was last written; `packets`: a zone got them, and can't answer. */
  deviceShowed: "life" | "packets" | "silence" | null;
}
