import { type Clock, sleep } from "../../base/clock.ts";
import { UpstreamError } from "../../base/errors.ts";
import type { DeliveryLevel } from "../../resources/broadcasts/delivery-levels.ts";
import { type ApiClient, listAll } from "../api-client.ts";

/** What the ledger says of one device. */
export interface LedgerLine {
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

const LOOK_EVERY_MS = 200;
/** What changes without a change of the counts is seen by then. own choice */
const READ_EVERY_MS = 2_000;
/** Pause between two readings of a ledger, in times that the last one took: a long one is not read without end. own choice */
const PAUSES = 10;
const LONGEST_MS = 60_000;

/** How a ledger is followed. */
export interface Following {
  clock: Clock;
  signal: AbortSignal;
  /** Gets the counts by level whenever they change. */
  onProgress(counts: string): void;
  /** Whether nothing more is to be waited for at a line. */
  isDone(line: LedgerLine): boolean;
  /** Nobody waits longer once there is a line; a minute unless given, as where there is none. */
  longestMs?: number;
}

/**
 * Looks at the counts of a notification, and at its ledger when they have changed, until nothing more is to be waited for
 * at any line; gives its last state. Throws UpstreamError when it takes too long.
 */
export async function followLedger(
  api: ApiClient,
  notificationId: string,
  { clock, signal, onProgress, isDone, longestMs = LONGEST_MS }: Following,
): Promise<LedgerLine[]> {
  const began = clock.monotonicMs();
  const at = `/notifications/${notificationId}`;
  let [told, seen, readAt, tookMs] = ["", "", began, 0];
  let lines: LedgerLine[] = [];
  for (;;) {
    const { progress } = await api.get<{ progress: Progress }>(at);
    const counts = JSON.stringify([progress.percentComplete, progress.devices]);
    const sinceMs = clock.monotonicMs() - readAt;
    if (sinceMs >= (counts === seen ? READ_EVERY_MS : PAUSES * tookMs)) {
      [seen, readAt] = [counts, clock.monotonicMs()];
      lines = await listAll<LedgerLine>(api, `${at}/devices`);
      tookMs = clock.monotonicMs() - readAt;
      const words = describe(lines);
      if (words !== told) onProgress(words);
      told = words;
      if (lines.length > 0 && lines.every(isDone)) return lines;
    }
    if (clock.monotonicMs() - began > (lines.length === 0 ? LONGEST_MS : longestMs))
      throw new UpstreamError("upstream", `The broadcast did not end: ${waitedFor(lines, isDone)}`);
    await sleep(clock, LOOK_EVERY_MS, signal);
  }
}

/** The lines that something is still waited for at, in words. */
function waitedFor(lines: readonly LedgerLine[], isDone: Following["isDone"]): string {
  const open = lines
    .filter((line) => !isDone(line))
    .map(({ deviceIdentifier, level }) => `${deviceIdentifier} ${level}`);
  return open.slice(0, 5).join(", ") || "no device yet";
}

function describe(lines: readonly LedgerLine[]): string {
  if (lines.length === 0) return "no device yet";
  const kinds = [...new Set(lines.map(kindOf))].sort();
  return kinds
    .map((kind) => {
      const counts = countBy(lines.filter((line) => kindOf(line) === kind).map(({ level }) => level));
      return `${kind}: ${Object.entries(counts)
        .map(([level, count]) => `${count} ${level}`)
        .join(", ")}`;
    })
    .join(" · ");
}

/** What kind of device a line is about. */
export function kindOf({ provider }: LedgerLine): "phones" | "zones" | "others" {
  if (provider === "ip-phones") return "phones";
  return provider === "multicast-zones" ? "zones" : "others";
}

/** How often each word occurs, by word in order of first occurrence. */
export function countBy(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
