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

const LOOK_EVERY_MS = 200;
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
 * Looks at the ledger of a notification until nothing more is to be waited for at any line, and gives its last state.
 * Throws UpstreamError when it takes too long.
 */
export async function followLedger(
  api: ApiClient,
  notificationId: string,
  { clock, signal, onProgress, isDone, longestMs = LONGEST_MS }: Following,
): Promise<LedgerLine[]> {
  const began = clock.monotonicMs();
  let told = "";
  for (;;) {
    const lines = await listAll<LedgerLine>(api, `/notifications/${notificationId}/devices`);
    const counts = describe(lines);
    if (counts !== told) onProgress(counts);
    told = counts;
    if (lines.length > 0 && lines.every(isDone)) return lines;
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
