import { type Clock, sleep } from "../lib/clock.ts";
import { UpstreamError } from "../lib/errors.ts";
import type { DeliveryLevel } from "../resources/notifications/delivery-levels.ts";
import { type ApiClient, listAll } from "./api-client.ts";

/** What the ledger says of one device. */
export interface DeliveryStatusRow {
  deviceIdentifier: string;
  name: string;
  type: string;
  /** Plugin that carries it. */
  provider: string | null;
  level: DeliveryLevel;
  reason: string | null;
  sentAt: string | null;
  acceptedAt: string | null;
  playingAt: string | null;
  provenAt: string | null;
  endedAt: string | null;
}

/** What a notification says of itself; the counts by level. */
interface Progress {
  percentComplete: number;
  devices: Record<string, number>;
}

const POLL_INTERVAL_MS = 200;
/** What changes without a change of the counts is seen by then. own choice */
const MAX_REREAD_INTERVAL_MS = 2_000;
/** Pause between two readings of a ledger, in times that the last one took: a long one is not read without end. own choice */
const PAUSE_FACTOR = 10;
const DEFAULT_TIMEOUT_MS = 60_000;

/** How a ledger is followed. */
export interface FollowOptions {
  clock: Clock;
  signal: AbortSignal;
  /** Gets the counts by level whenever they change. */
  onProgress(counts: string): void;
  /** Whether nothing more is to be waited for at a line. */
  isDone(line: DeliveryStatusRow): boolean;
  /** Nobody waits longer once there is a line; a minute unless given, as where there is none. */
  longestMs?: number;
}

/**
 * Looks at the counts of a notification, and at its ledger when they have changed, until nothing more is to be waited for
 * at any line; gives its last state. Throws UpstreamError when it takes too long.
 */
export async function followDeliveries(
  api: ApiClient,
  notificationId: string,
  { clock, signal, onProgress, isDone, longestMs = DEFAULT_TIMEOUT_MS }: FollowOptions,
): Promise<DeliveryStatusRow[]> {
  const began = clock.monotonicMs();
  const at = `/notifications/${notificationId}`;
  let [told, seen, readAt, tookMs] = ["", "", began, 0];
  let lines: DeliveryStatusRow[] = [];
  for (;;) {
    const { progress } = await api.get<{ progress: Progress }>(at);
    const counts = JSON.stringify([progress.percentComplete, progress.devices]);
    const sinceMs = clock.monotonicMs() - readAt;
    if (sinceMs >= (counts === seen ? MAX_REREAD_INTERVAL_MS : PAUSE_FACTOR * tookMs)) {
      [seen, readAt] = [counts, clock.monotonicMs()];
      lines = await listAll<DeliveryStatusRow>(api, `${at}/devices`);
      tookMs = clock.monotonicMs() - readAt;
      const words = describeDeliveries(lines);
      if (words !== told) onProgress(words);
      told = words;
      if (lines.length > 0 && lines.every(isDone)) return lines;
    }
    if (clock.monotonicMs() - began > (lines.length === 0 ? DEFAULT_TIMEOUT_MS : longestMs))
      throw new UpstreamError("upstream", `The broadcast did not end: ${describePending(lines, isDone)}`);
    await sleep(clock, POLL_INTERVAL_MS, signal);
  }
}

/** The lines that something is still waited for at, in words. */
function describePending(lines: readonly DeliveryStatusRow[], isDone: FollowOptions["isDone"]): string {
  const open = lines
    .filter((line) => !isDone(line))
    .map(({ deviceIdentifier, level }) => `${deviceIdentifier} ${level}`);
  return open.slice(0, 5).join(", ") || "no device yet";
}

function describeDeliveries(lines: readonly DeliveryStatusRow[]): string {
  if (lines.length === 0) return "no device yet";
  const kinds = [...new Set(lines.map(deliveryCategory))].sort();
  return kinds
    .map((kind) => {
      const counts = countOccurrences(
        lines.filter((line) => deliveryCategory(line) === kind).map(({ level }) => level),
      );
      return `${kind}: ${Object.entries(counts)
        .map(([level, count]) => `${count} ${level}`)
        .join(", ")}`;
    })
    .join(" · ");
}

/** What kind of device a line is about. */
export function deliveryCategory({ provider }: DeliveryStatusRow): "phones" | "zones" | "others" {
  if (provider === "ip-phones") return "phones";
  return provider === "multicast-zones" ? "zones" : "others";
}

/** How often each word occurs, by word in order of first occurrence. */
export function countOccurrences(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
