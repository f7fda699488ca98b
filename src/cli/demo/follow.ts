import { type Clock, sleep } from "../../base/clock.ts";
import { UpstreamError } from "../../base/errors.ts";
import type { DeliveryLevel } from "../../resources/broadcasts/delivery-levels.ts";
import { type ApiClient, listAll } from "../api-client.ts";

/** What the ledger says of one device. */
export interface LedgerLine {
  deviceIdentifier: string;
  name: string;
  type: string;
  level: DeliveryLevel;
  reason: string | null;
  endedAt: string | null;
}

const LOOK_EVERY_MS = 200;
const LONGEST_MS = 60_000;

/**
 * Looks at the ledger of a notification until nothing more is to be expected of any device, and gives its last state.
 * `onProgress` gets the counts by level whenever they change. Throws UpstreamError after a minute.
 */
export async function followLedger(
  api: ApiClient,
  notificationId: string,
  { clock, signal, onProgress }: { clock: Clock; signal: AbortSignal; onProgress: (counts: string) => void },
): Promise<LedgerLine[]> {
  const until = clock.monotonicMs() + LONGEST_MS;
  let told = "";
  for (;;) {
    const lines = await listAll<LedgerLine>(api, `/notifications/${notificationId}/devices`);
    const counts = describe(lines);
    if (counts !== told) onProgress(counts);
    told = counts;
    if (lines.length > 0 && lines.every(({ endedAt }) => endedAt !== null)) return lines;
    if (clock.monotonicMs() > until) throw new UpstreamError("upstream", `The broadcast did not end: ${counts}`);
    await sleep(clock, LOOK_EVERY_MS, signal);
  }
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

/** `phones` or `zones`. */
export function kindOf(line: LedgerLine): "phones" | "zones" {
  return line.type === "phones" ? "phones" : "zones";
}

/** How often each word occurs, by word in order of first occurrence. */
export function countBy(words: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
