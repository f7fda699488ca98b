import type { NotificationRow } from "./rows.ts";

/** Where a broadcast stands, in one word. */
export type BroadcastState = "waiting" | "going" | "finished" | "stopped" | "failed";

/** What tells where a broadcast stands. */
interface Standing extends Pick<NotificationRow, "abortedAt"> {
  /** Whether a second person lets it go out; null where nobody is asked. */
  approval?: NotificationRow["approval"];
  progress: Pick<NotificationRow["progress"], "percentComplete" | "expireCount" | "broadcastFailedCount">;
}

/** The word for a broadcast, by its percentage and its diary's counts. */
export function stateOf({ abortedAt, approval = null, progress }: Standing): BroadcastState {
  if (abortedAt || approval === "refused" || approval === "expired") return "stopped";
  if (approval === "waiting") return "waiting";
  // One that is sent again goes on, though it was over before.
  if (progress.percentComplete < 100) return progress.expireCount > 0 ? "finished" : "going";
  return progress.broadcastFailedCount > 0 ? "failed" : "finished";
}

/** Those that are going on. */
export function soundingOf(rows: readonly NotificationRow[]): NotificationRow[] {
  return rows.filter((row) => !row.draft && stateOf(row) === "going");
}

/** Those that wait for a second person, in their order; of one scenario the first. */
export function waitingOf(rows: readonly NotificationRow[]): NotificationRow[] {
  const known = new Set<string>();
  return rows.filter(({ id, approval, scenarioNotificationId }) => {
    const key = scenarioNotificationId ?? id;
    const isNew = approval === "waiting" && !known.has(key);
    known.add(key);
    return isNew;
  });
}

/** The ledger's levels in three words, and their sum. */
export interface Counted {
  reached: number;
  waiting: number;
  missed: number;
  total: number;
}

const REACHED = ["sent", "accepted", "playing", "heard", "confirmed"];

/** Adds up devices by level. */
export function countedOf(devices: Readonly<Record<string, number>>): Counted {
  const counted: Counted = { reached: 0, waiting: 0, missed: 0, total: 0 };
  for (const [level, n] of Object.entries(devices)) {
    counted.total += n;
    if (REACHED.includes(level)) counted.reached += n;
    else if (level === "planned") counted.waiting += n;
    else counted.missed += n;
  }
  return counted;
}
