import type confirmationRequests from "../../resources/confirmations/confirmation-requests.ts";
import type userDevices from "../../resources/people/user-devices.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { ActorContext, StoreReader, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { addActivity } from "../engine/activity-log.ts";
import { type ChunkedWriteDeps, writeInChunks } from "../engine/chunked-writes.ts";
import type { PipelineStageDeps } from "../engine/pipeline-stage.ts";
import {
  advanceTimer,
  completeTimer,
  type NotificationTimer,
  postponeTimer,
  scheduleTimer,
  type TimerHandler,
} from "./timers.ts";

/** Position of a device. */
export interface TrackedPosition {
  deviceId: string;
  /** Epoch ms, as reported by the device. */
  at: number;
  longitude: number;
  latitude: number;
  accuracyM: number;
}

type TrackingRequest = Pick<
  RowOf<typeof confirmationRequests>,
  "options" | "initiateTrackingOptions" | "expirationPeriod"
>;

/** Maximum length of tracking. */
const MAX_TRACKING_MS = 24 * 3_600_000;
/** Stored positions per person and message: the newest. */
export const MAX_POSITIONS = 1_000;
/** One timer per message, for the first end of tracking; it then finds the others. */
const TRACKING_TIMER = { kind: "tracking", ref: "" } as const;

/**
 * Starts or ends tracking a recipient's devices, as the request's flags say. An answer without a flag ends it; tracking
 * ends when answers are no longer accepted or the message ends, at most after 24 hours. @source
 * docs/decisions/0008-notifications-and-templates.md, Confirmation requests
 */
export function updateTracking(
  tx: Transaction,
  row: Pick<NotificationRow, "pk" | "id" | "createdAt" | "expiresAt">,
  request: TrackingRequest,
  answer: { userId: string | null; option: string; now: number; by: ActorContext },
): void {
  const { userId, option, now, by } = answer;
  if (userId === null || !request.initiateTrackingOptions?.includes(true)) return;
  const user = tx.one<{ pk: number }>("SELECT pk FROM users WHERE id = ?", userId);
  if (!user) return;
  const wanted = request.initiateTrackingOptions[request.options.indexOf(option)] === true;
  if (wanted === isTracked(tx, row.pk, user.pk)) return;
  if (!wanted) {
    tx.run(
      "UPDATE notification_tracked_users SET ended_at = ? WHERE notification = ? AND user = ?",
      now,
      row.pk,
      user.pk,
    );
    addActivity(tx, { notificationId: row.id, userId, type: "tracking-terminated" }, by);
    return;
  }
  const { expirationPeriod: period } = request;
  const until = Math.min(
    row.expiresAt ?? Number.POSITIVE_INFINITY,
    period === null ? Number.POSITIVE_INFINITY : row.createdAt + period * 1_000,
    now + MAX_TRACKING_MS,
  );
  tx.run(
    `INSERT INTO notification_tracked_users (notification, user, started_at, until) VALUES (?, ?, ?, ?)
     ON CONFLICT (notification, user) DO UPDATE SET until = excluded.until, ended_at = NULL`,
    ...[row.pk, user.pk, now, until],
  );
  scheduleTimer(tx, row, { ...TRACKING_TIMER, at: until });
  addActivity(tx, { notificationId: row.id, userId, type: "tracking-started" }, by);
}

function isTracked(tx: Transaction, notification: number, user: number): boolean {
  const sql = "SELECT 1 FROM notification_tracked_users WHERE notification = ? AND user = ? AND ended_at IS NULL";
  return tx.one(sql, notification, user) !== null;
}

/** Stores a device's position for each message that tracks its user. */
export function recordPosition(
  tx: Transaction,
  device: Pick<RowOf<typeof userDevices>, "pk" | "id">,
  { at, longitude, latitude, accuracyM }: Omit<TrackedPosition, "deviceId">,
  now: number,
): void {
  const followed = tx.all<{ notification: number; user: number }>(
    `SELECT t.notification, t.user FROM user_devices d JOIN notification_tracked_users t ON t.user = d.user_pk AND t.ended_at IS NULL
     WHERE d.pk = ? AND t.until > ?`,
    device.pk,
    now,
  );
  for (const { notification, user } of followed) {
    if (trackingEndedAt(tx, notification) !== null) continue;
    tx.run(
      `INSERT INTO notification_tracked_positions (notification, user, device, at, longitude, latitude, accuracy_m)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ...[notification, user, device.id, at, longitude, latitude, accuracyM],
    );
    tx.run(
      `DELETE FROM notification_tracked_positions WHERE pk = (SELECT pk FROM notification_tracked_positions WHERE notification = ? AND user = ?
         ORDER BY pk DESC LIMIT 1 OFFSET ${MAX_POSITIONS})`,
      ...[notification, user],
    );
  }
}

/**
 * Ends all tracking of a message that has ended. The cost is constant; the rows of the people follow in chunks, also
 * after a crash.
 */
export function endTracking(
  tx: Transaction,
  row: Pick<NotificationRow, "pk" | "id">,
  why: "tracking-completed" | "tracking-terminated",
  now: number,
  by: ActorContext,
): void {
  const sql = "SELECT count(*) AS users FROM notification_tracked_users WHERE notification = ? AND ended_at IS NULL";
  const users = tx.one<{ users: number }>(sql, row.pk)?.users ?? 0;
  if (users === 0 || trackingEndedAt(tx, row.pk) !== null) return;
  advanceTimer(tx, row, { ...TRACKING_TIMER, at: now }, why);
  addActivity(tx, { notificationId: row.id, type: why, details: { users } }, by);
}

/** When the end of a message ended all its tracking, epoch ms, while the rows are still to be written; else null. */
export function trackingEndedAt(reader: StoreReader, notificationPk: number): number | null {
  const sql =
    "SELECT at FROM notification_timers WHERE notification = ? AND kind = ? AND ref = ? AND decided IS NOT NULL";
  return reader.one<{ at: number }>(sql, notificationPk, TRACKING_TIMER.kind, TRACKING_TIMER.ref)?.at ?? null;
}

/** Ends tracking that is due, or all of it when the message has ended; reschedules for the rest. */
export function createTrackingEndHandler(deps: ChunkedWriteDeps & Pick<PipelineStageDeps, "by">): TimerHandler {
  return async (due) => {
    const until = due.decided === null ? deps.clock.now() : Number.MAX_SAFE_INTEGER;
    await writeInChunks(deps, "normal", (tx, limit) => endTrackingChunk(tx, due, until, limit, deps));
    await deps.store.write((tx) => {
      const sql = "SELECT min(until) AS at FROM notification_tracked_users WHERE notification = ? AND ended_at IS NULL";
      const next = tx.one<{ at: number | null }>(sql, due.notification)?.at ?? null;
      if (next === null) completeTimer(tx, due);
      else postponeTimer(tx, due, next);
    });
  };
}

/**
 * Ends at most `most` tracks that are due at `until`; returns their number. One activity log entry for all of them,
 * which names the person if there is one, and none where the message's end was logged; the tracks hold the exact times.
 */
function endTrackingChunk(
  tx: Transaction,
  { notification, notificationId, at, decided }: NotificationTimer,
  until: number,
  limit: number,
  { by }: Pick<PipelineStageDeps, "by">,
): number {
  const over = tx.all<{ pk: number; userId: string }>(
    `SELECT u.pk, u.id AS userId FROM notification_tracked_users t INDEXED BY notification_tracked_users__until CROSS JOIN users u ON u.pk = t.user
     WHERE t.notification = ? AND t.ended_at IS NULL AND t.until <= ? ORDER BY t.until LIMIT ?`,
    ...[notification, until, limit],
  );
  tx.run(
    `UPDATE notification_tracked_users SET ended_at = min(until, ?)
     WHERE notification = ? AND user IN (SELECT value FROM json_each(?))`,
    ...[decided === null ? until : at, notification, JSON.stringify(over.map(({ pk }) => pk))],
  );
  if (decided !== null || over.length === 0) return over.length;
  const subject = over.length === 1 ? { userId: over[0]?.userId ?? null } : { details: { users: over.length } };
  addActivity(tx, { notificationId, type: "tracking-completed", ...subject }, by);
  return over.length;
}
