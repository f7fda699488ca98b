import { outcomeTotal, type ReachVerdict } from "../../../resources/notifications/device-outcomes.ts";
import type { NotificationRow } from "./rows.ts";

/** State of a notification, derived from its progress. */
export type NotificationState = "waiting" | "ready" | "going" | "finished" | "stopped" | "failed";

/** Fields that the state is derived from. */
export interface NotificationProgress extends Pick<NotificationRow, "abortedAt"> {
  /** State of the approval by a second person; null if none is required. */
  approval?: NotificationRow["approval"];
  /** When a bell is to be heard, which is made ready before its time, at `createdAt`. */
  soundsAt?: string | null;
  createdAt?: string;
  /** Number of people who may read it. */
  recipientCount?: number;
  progress: Pick<
    NotificationRow["progress"],
    "percentComplete" | "expireCount" | "broadcastFailedCount" | "outcomes" | "verdict"
  >;
}

/** State of a notification at `now` (epoch ms), by its percentage and activity counts. */
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

/** How long a notification has been active, in ms: for a bell since its ring time, not since it was prepared. */
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

/** What a settled notification has reached; null before, and for one that people read without devices. */
export function messageVerdict({ approval, recipientCount, progress }: NotificationProgress): ReachVerdict | null {
  if (progress.percentComplete < 100 || approval === "refused" || approval === "expired") return null;
  const hasReadersOnly = outcomeTotal(progress.outcomes) === 0 && (recipientCount ?? 0) > 0;
  return hasReadersOnly ? null : progress.verdict;
}
