import type { DeliveryLevel } from "./delivery-levels.ts";

/**
 * Result of a message for one device, in the order of lists and bars. The only terms in which the product sums up
 * deliveries: API counters, reports, command line and console derive them with the functions below.
 * @source docs/decisions/0440-device-outcomes.md
 */
export const DEVICE_OUTCOMES = [
  /** A microphone or a person confirmed it. */
  "heard",
  /** Packets or a report of the device prove that it plays or shows the message. */
  "played",
  /** The device shows the text and did not play audio, or in an emergency less than half of it. */
  "textOnly",
  /** It left, and nothing can or did prove that it arrived: multicast, providers, a call without reports. */
  "noReceipt",
  "notReached",
  /** Left out on purpose. */
  "skipped",
  /** Not decided yet. */
  "waiting",
] as const;

export type DeviceOutcome = (typeof DEVICE_OUTCOMES)[number];

/** What the ledger knows of a delivery. */
export interface DeliveryEvidence {
  level: DeliveryLevel;
  /** The device shows the text and did not play audio, or in an emergency less than half of it. */
  textOnly: boolean;
}

/** Number of devices by outcome. */
export type OutcomeCounts = Readonly<Record<DeviceOutcome, number>>;

const OUTCOME_BY_LEVEL: Readonly<Record<DeliveryLevel, DeviceOutcome>> = {
  planned: "waiting",
  sent: "noReceipt",
  accepted: "noReceipt",
  playing: "played",
  heard: "heard",
  confirmed: "heard",
  failed: "notReached",
  expired: "notReached",
  skipped: "skipped",
};

/** Outcome of one delivery. */
export function deviceOutcome({ level, textOnly }: DeliveryEvidence): DeviceOutcome {
  const outcome = OUTCOME_BY_LEVEL[level];
  return textOnly && (outcome === "noReceipt" || outcome === "played") ? "textOnly" : outcome;
}

/** Number of devices of all outcomes. */
export function outcomeTotal(counts: OutcomeCounts): number {
  return DEVICE_OUTCOMES.reduce((sum, outcome) => sum + counts[outcome], 0);
}

/** Number of devices that the message was handed to. */
export function reachedTotal({ heard, played, textOnly, noReceipt }: OutcomeCounts): number {
  return heard + played + textOnly + noReceipt;
}

/** Result for a set of devices: of a message, a room, a building, a bell. */
export const REACH_VERDICTS = [
  "waiting",
  "reached",
  "reachedPartly",
  "reachedNone",
  "textOnly",
  "partlyTextOnly",
  "noReceipt",
  "partlyNoReceipt",
  "skipped",
] as const;

export type ReachVerdict = (typeof REACH_VERDICTS)[number];

/** Colour of an outcome: green, amber, red, blue, grey, or none. Green only where it is proven that people heard it. */
export type OutcomeTone = "good" | "warn" | "bad" | "info" | "muted" | "";

export const OUTCOME_TONES: Readonly<Record<DeviceOutcome, OutcomeTone>> = {
  heard: "good",
  played: "good",
  textOnly: "warn",
  noReceipt: "info",
  notReached: "bad",
  skipped: "muted",
  waiting: "",
};

export const VERDICT_TONES: Readonly<Record<ReachVerdict, OutcomeTone>> = {
  waiting: "",
  reached: "good",
  reachedPartly: "warn",
  reachedNone: "bad",
  textOnly: "warn",
  partlyTextOnly: "warn",
  noReceipt: "info",
  partlyNoReceipt: "info",
  skipped: "muted",
};

/** English names of the outcomes, for the command line and printed reports; the console has its own, translated. */
export const OUTCOME_NAMES: Readonly<Record<DeviceOutcome, string>> = {
  heard: "Heard",
  played: "Played",
  textOnly: "Text only",
  noReceipt: "Sent, no receipt",
  notReached: "Not reached",
  skipped: "Skipped",
  waiting: "In progress",
};

/** English names of the verdicts. */
export const VERDICT_NAMES: Readonly<Record<ReachVerdict, string>> = {
  waiting: "In progress",
  reached: "Reached",
  reachedPartly: "Partly reached",
  reachedNone: "Reached no one",
  textOnly: "Text only",
  partlyTextOnly: "Partly text only",
  noReceipt: "No receipt",
  partlyNoReceipt: "Partly no receipt",
  skipped: "Skipped",
};
