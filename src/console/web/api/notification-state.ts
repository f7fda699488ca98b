import type { NotificationRow } from "./rows.ts";

/** Where a broadcast stands, in one word. */
export type NotificationState = "waiting" | "ready" | "going" | "finished" | "stopped" | "failed";

/** What tells where a broadcast stands. */
export interface NotificationProgress extends Pick<NotificationRow, "abortedAt"> {
  /** Whether a second person lets it go out; null where nobody is asked. */
  approval?: NotificationRow["approval"];
  /** When a bell is to be heard, which is made ready before its time, at `createdAt`. */
  soundsAt?: string | null;
  createdAt?: string;
  progress: Pick<NotificationRow["progress"], "percentComplete" | "expireCount" | "broadcastFailedCount">;
}

/** The word for a broadcast at a moment (epoch ms), by its percentage and its diary's counts. */
export function notificationState(
  { abortedAt, approval = null, soundsAt = null, createdAt = "", progress }: NotificationProgress,
  now: number,
): NotificationState {
  if (abortedAt || approval === "refused" || approval === "expired") return "stopped";
  if (approval === "waiting") return "waiting";
  // One that is sent again goes on, though it was over before.
  if (progress.percentComplete < 100) {
    if (progress.expireCount > 0) return "finished";
    // Before it was made ready a browser's clock is slow: what may sound must be seen, and can be stopped.
    const isEarly = soundsAt !== null && now < Date.parse(soundsAt) && now >= Date.parse(createdAt);
    return isEarly ? "ready" : "going";
  }
  return progress.broadcastFailedCount > 0 ? "failed" : "finished";
}

/** Those that are going on at a moment (epoch ms). */
export function activeNotifications(rows: readonly NotificationRow[], now: number): NotificationRow[] {
  return rows.filter((row) => !row.draft && notificationState(row, now) === "going");
}

/** For how many ms something has been going on: a bell since it is to be heard, not since it was made ready. */
export function activeDurationMs(
  { createdAt, soundsAt }: Pick<NotificationRow, "createdAt" | "soundsAt">,
  now: number,
): number {
  return Math.max(0, now - Date.parse(soundsAt ?? createdAt));
}

/** Those that wait for a second person, in their order; of one scenario the first. */
export function awaitingApproval(rows: readonly NotificationRow[]): NotificationRow[] {
  const known = new Set<string>();
  return rows.filter(({ id, approval, scenarioNotificationId }) => {
    const key = scenarioNotificationId ?? id;
    const isNew = approval === "waiting" && !known.has(key);
    known.add(key);
    return isNew;
  });
}

/** The ledger's levels in four words, and their sum. */
export interface LevelSummary {
  reached: number;
  waiting: number;
  missed: number;
  /** Passed over on purpose, such as by an emergency that silences bells, or since the device is out of use: no fault. */
  passedOver: number;
  total: number;
}

const REACHED = ["sent", "accepted", "playing", "heard", "confirmed"];

/** Adds up devices by level. */
export function levelSummary(devices: Readonly<Record<string, number>>): LevelSummary {
  const counted: LevelSummary = { reached: 0, waiting: 0, missed: 0, passedOver: 0, total: 0 };
  for (const [level, n] of Object.entries(devices)) {
    counted.total += n;
    if (REACHED.includes(level)) counted.reached += n;
    else if (level === "planned") counted.waiting += n;
    else if (level === "skipped") counted.passedOver += n;
    else counted.missed += n;
  }
  return counted;
}
