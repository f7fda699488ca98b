import { type Clock, sleep } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import type { DeliveryLevel } from "../resources/notifications/delivery-levels.ts";
import { type ApiClient, listAll } from "./api-client.ts";

/** Delivery state of one device. */
export interface DeliveryStatusRow {
  deviceIdentifier: string;
  name: string;
  type: string;
  /** Plugin that handles the delivery. */
  provider: string | null;
  level: DeliveryLevel;
  textOnly: boolean;
  reason: string | null;
  sentAt: string | null;
  acceptedAt: string | null;
  playingAt: string | null;
  provenAt: string | null;
  endedAt: string | null;
  /** Match of a microphone's recording with the audio; null without a microphone. */
  matchPValue: number | null;
  matchDelayMs: number | null;
  matchLevelDb: number | null;
}

/** Progress of a notification, with device counts by level. */
interface Progress {
  percentComplete: number;
  devices: Record<string, number>;
}

const POLL_INTERVAL_MS = 200;
/** Changes that leave the counts unchanged are seen within this time. */
const MAX_REREAD_INTERVAL_MS = 2_000;
/** Pause between two reads of the delivery list, as a multiple of the last read's duration: bounds the load of long lists. */
const PAUSE_FACTOR = 10;
const DEFAULT_TIMEOUT_MS = 60_000;

export interface FollowOptions {
  clock: Clock;
  signal: AbortSignal;
  /** Called with the counts by level whenever they change. */
  onProgress(counts: string): void;
  /** Whether the delivery of this device needs no more waiting. */
  isDone(line: DeliveryStatusRow): boolean;
  /** Timeout once there are deliveries; default a minute, which also applies while there are none. */
  longestMs?: number;
}

/**
 * Polls the counts of a notification, and its delivery list when they have changed, until `isDone` holds for every row;
 * returns the last rows. Throws UpstreamError on timeout.
 */
export async function followDeliveries(
  api: ApiClient,
  notificationId: string,
  { clock, signal, onProgress, isDone, longestMs = DEFAULT_TIMEOUT_MS }: FollowOptions,
): Promise<DeliveryStatusRow[]> {
  const startedAt = clock.monotonicMs();
  const path = `/notifications/${notificationId}`;
  let [reported, lastCounts, readAt, tookMs] = ["", "", startedAt, 0];
  let rows: DeliveryStatusRow[] = [];
  for (;;) {
    const { progress } = await api.get<{ progress: Progress }>(path);
    const counts = JSON.stringify([progress.percentComplete, progress.devices]);
    const sinceMs = clock.monotonicMs() - readAt;
    if (sinceMs >= (counts === lastCounts ? MAX_REREAD_INTERVAL_MS : PAUSE_FACTOR * tookMs)) {
      [lastCounts, readAt] = [counts, clock.monotonicMs()];
      rows = await listAll<DeliveryStatusRow>(api, `${path}/devices`);
      tookMs = clock.monotonicMs() - readAt;
      const summary = describeDeliveries(rows);
      if (summary !== reported) onProgress(summary);
      reported = summary;
      if (rows.length > 0 && rows.every(isDone)) return rows;
    }
    if (clock.monotonicMs() - startedAt > (rows.length === 0 ? DEFAULT_TIMEOUT_MS : longestMs))
      throw new UpstreamError("upstream", `Timed out waiting for deliveries: ${describePending(rows, isDone)}`);
    await sleep(clock, POLL_INTERVAL_MS, signal);
  }
}

/** The first devices that are not done, as text. */
function describePending(rows: readonly DeliveryStatusRow[], isDone: FollowOptions["isDone"]): string {
  const open = rows
    .filter((line) => !isDone(line))
    .map(({ deviceIdentifier, level }) => `${deviceIdentifier} ${level}`);
  return open.slice(0, 5).join(", ") || "no devices yet";
}

function describeDeliveries(rows: readonly DeliveryStatusRow[]): string {
  if (rows.length === 0) return "no devices yet";
  const kinds = [...new Set(rows.map(deliveryCategory))].sort();
  return kinds
    .map((kind) => {
      const counts = countOccurrences(rows.filter((line) => deliveryCategory(line) === kind).map(({ level }) => level));
      return `${kind}: ${Object.entries(counts)
        .map(([level, count]) => `${count} ${level}`)
        .join(", ")}`;
    })
    .join(" · ");
}

export function deliveryCategory({ provider }: DeliveryStatusRow): "phones" | "zones" | "others" {
  if (provider === "ip-phones") return "phones";
  return provider === "multicast-zones" ? "zones" : "others";
}

/** Number of occurrences of each word, in order of first occurrence. */
export function countOccurrences(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
