import { DELIVERY_LEVELS, type DeliveryLevel } from "./delivery-levels.ts";

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
  /** The device shows the text and did not play audio. */
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
  /** The device shows the text and did not play audio. */
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

/** Which deliveries have an outcome: their levels, and whether they show text only; null where that does not matter. */
export function outcomeFilter(outcome: DeviceOutcome): { levels: DeliveryLevel[]; textOnly: boolean | null } {
  const levelsOf = (textOnly: boolean) =>
    DELIVERY_LEVELS.filter((level) => deviceOutcome({ level, textOnly }) === outcome);
  const [spoken, shown] = [levelsOf(false), levelsOf(true)];
  if (spoken.length > 0 && shown.length > 0) return { levels: spoken, textOnly: null };
  return spoken.length > 0 ? { levels: spoken, textOnly: false } : { levels: shown, textOnly: true };
}

/** Counts deliveries by outcome; `n` deliveries each, one by default. */
export function countOutcomes(deliveries: Iterable<DeliveryEvidence & { n?: number }>): OutcomeCounts {
  const counts = Object.fromEntries(DEVICE_OUTCOMES.map((outcome) => [outcome, 0])) as Record<DeviceOutcome, number>;
  for (const { n = 1, ...delivery } of deliveries) counts[deviceOutcome(delivery)] += n;
  return counts;
}

/** Sum of several counts. */
export function sumOutcomes(all: readonly OutcomeCounts[]): OutcomeCounts {
  const sum = (outcome: DeviceOutcome): number => all.reduce((before, counts) => before + counts[outcome], 0);
  return Object.fromEntries(DEVICE_OUTCOMES.map((outcome) => [outcome, sum(outcome)])) as OutcomeCounts;
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
  "reachedNobody",
  "textOnly",
  "partlyTextOnly",
  "noReceipt",
  "partlyNoReceipt",
  "skipped",
] as const;

export type ReachVerdict = (typeof REACH_VERDICTS)[number];

/** Result for a set of devices: the worst that people there notice decides. A set without devices reached nobody. */
export function reachVerdict(counts: OutcomeCounts): ReachVerdict {
  const { textOnly, noReceipt, notReached, skipped, waiting } = counts;
  const total = outcomeTotal(counts);
  const reached = reachedTotal(counts);
  if (total > 0 && skipped === total) return "skipped";
  if (notReached > 0) return reached + waiting === 0 ? "reachedNobody" : "reachedPartly";
  if (waiting > 0) return "waiting";
  if (reached === 0) return "reachedNobody";
  if (textOnly > 0) return textOnly === reached ? "textOnly" : "partlyTextOnly";
  if (noReceipt > 0) return noReceipt === reached ? "noReceipt" : "partlyNoReceipt";
  return "reached";
}

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
  reachedNobody: "bad",
  textOnly: "warn",
  partlyTextOnly: "warn",
  noReceipt: "info",
  partlyNoReceipt: "info",
  skipped: "muted",
};
