import { DELIVERY_LEVELS, type DeliveryLevel } from "./delivery-levels.ts";
import {
  DEVICE_OUTCOMES,
  type DeliveryEvidence,
  type DeviceOutcome,
  deviceOutcome,
  type OutcomeCounts,
  outcomeTotal,
  type ReachVerdict,
  reachedTotal,
} from "./device-outcomes.ts";

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

/** Result for a set of devices: the worst that people there notice decides. A set without devices reached no one. */
export function reachVerdict(counts: OutcomeCounts): ReachVerdict {
  const { textOnly, noReceipt, notReached, skipped, waiting } = counts;
  const total = outcomeTotal(counts);
  const reached = reachedTotal(counts);
  if (total > 0 && skipped === total) return "skipped";
  if (notReached > 0) return reached + waiting === 0 ? "reachedNone" : "reachedPartly";
  if (waiting > 0) return "waiting";
  if (reached === 0) return "reachedNone";
  if (textOnly > 0) return textOnly === reached ? "textOnly" : "partlyTextOnly";
  if (noReceipt > 0) return noReceipt === reached ? "noReceipt" : "partlyNoReceipt";
  return "reached";
}
