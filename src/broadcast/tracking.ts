import notifications from "../resources/broadcasts/notifications.ts";
import type confirmationRequests from "../resources/confirmations/confirmation-requests.ts";
import type userDevices from "../resources/people/user-devices.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Reader, Transaction } from "../store/store.ts";
import { addActivity } from "./activities.ts";
import type { NotificationRow } from "./compose.ts";
import { type DueHandler, setDue, takeDue } from "./due.ts";
import type { StageNeeds } from "./stage.ts";

/** Where a device was. */
export interface TrackedPosition {
  deviceId: string;
  /** Epoch ms, as the device says. */
  at: number;
  longitude: number;
  latitude: number;
  accuracyM: number;
}

/** Somebody whose devices are or were followed since an answer; times are epoch ms. */
export interface Track {
  userId: string;
  name: string;
  startedAt: number;
  /** Null while it goes on. */
  endedAt: number | null;
  /** Positions that are kept. */
  count: number;
  /** Null before the first report. */
  last: TrackedPosition | null;
}

type Request = Pick<RowOf<typeof confirmationRequests>, "options" | "initiateTrackingOptions" | "expirationPeriod">;

/** Nobody is followed longer than this. own choice */
const LONGEST_MS = 24 * 3_600_000;
/** Positions kept of one person and message: the newest. own choice */
const MOST_POSITIONS = 1_000;
/** People told of at once. own choice */
const MOST_PEOPLE = 1_000;

/**
 * Starts or ends following the devices of whoever answers, as the request's flags say. own choice: an answer without a
 * flag ends it; it goes on until answers are taken no more or the message ends, at most for 24 hours.
 * @source decisions.md 8, initiateTrackingOptions
 */
export function trackByAnswer(
  tx: Transaction,
  row: NotificationRow,
  request: Request,
  answer: { userId: string | null; option: string; now: number; by: By },
): void {
  const { userId, option, now, by } = answer;
  if (userId === null || !request.initiateTrackingOptions?.includes(true)) return;
  const user = tx.one<{ pk: number }>("SELECT pk FROM users WHERE id = ?", userId);
  if (!user) return;
  const wanted = request.initiateTrackingOptions[request.options.indexOf(option)] === true;
  if (wanted === isTracked(tx, row.pk, user.pk)) return;
  if (!wanted) {
    tx.run("UPDATE broadcast_tracked SET ended_at = ? WHERE notification = ? AND user = ?", now, row.pk, user.pk);
    addActivity(tx, { notificationId: row.id, userId, type: "tracking-terminated" }, by);
    return;
  }
  const { expirationPeriod: period } = request;
  const until = Math.min(
    row.expiresAt ?? Number.POSITIVE_INFINITY,
    period === null ? Number.POSITIVE_INFINITY : row.createdAt + period * 1_000,
    now + LONGEST_MS,
  );
  tx.run(
    `INSERT INTO broadcast_tracked (notification, user, started_at, until) VALUES (?, ?, ?, ?)
     ON CONFLICT (notification, user) DO UPDATE SET until = excluded.until, ended_at = NULL`,
    ...[row.pk, user.pk, now, until],
  );
  setDue(tx, row, { kind: "tracking", ref: String(user.pk), at: until });
  addActivity(tx, { notificationId: row.id, userId, type: "tracking-started" }, by);
}

function isTracked(tx: Transaction, notification: number, user: number): boolean {
  const sql = "SELECT 1 FROM broadcast_tracked WHERE notification = ? AND user = ? AND ended_at IS NULL";
  return tx.one(sql, notification, user) !== null;
}

/** Keeps where a device was for each message that follows its user. */
export function keepPosition(
  tx: Transaction,
  device: Pick<RowOf<typeof userDevices>, "pk" | "id">,
  { at, longitude, latitude, accuracyM }: Omit<TrackedPosition, "deviceId">,
  now: number,
): void {
  const followed = tx.all<{ notification: number; user: number }>(
    `SELECT t.notification, t.user FROM user_devices d JOIN broadcast_tracked t ON t.user = d.user_pk AND t.ended_at IS NULL
     WHERE d.pk = ? AND t.until > ?`,
    device.pk,
    now,
  );
  for (const { notification, user } of followed) {
    tx.run(
      `INSERT INTO broadcast_tracks (notification, user, device, at, longitude, latitude, accuracy_m)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ...[notification, user, device.id, at, longitude, latitude, accuracyM],
    );
    tx.run(
      `DELETE FROM broadcast_tracks WHERE pk = (SELECT pk FROM broadcast_tracks WHERE notification = ? AND user = ?
         ORDER BY pk DESC LIMIT 1 OFFSET ${MOST_POSITIONS})`,
      ...[notification, user],
    );
  }
}

/** The message has ended: nobody is followed for it any more. */
export function endTracking(
  tx: Transaction,
  row: Pick<NotificationRow, "pk" | "id">,
  why: "tracking-completed" | "tracking-terminated",
  now: number,
  by: By,
): void {
  const sql = "UPDATE broadcast_tracked SET ended_at = ? WHERE notification = ? AND ended_at IS NULL";
  const { changes } = tx.run(sql, now, row.pk);
  tx.run("DELETE FROM broadcast_due WHERE notification = ? AND kind = 'tracking'", row.pk);
  if (changes === 0) return;
  addActivity(tx, { notificationId: row.id, type: why, details: { users: changes } }, by);
}

/** Ends following one person when the time is over. */
export function createTrackingEnd({ store, clock, by }: Pick<StageNeeds, "store" | "clock" | "by">): DueHandler {
  return (due) =>
    store.write((tx) => {
      const row = tx.get(notifications, due.notificationId);
      const user = tx.one<{ pk: number; id: string }>("SELECT pk, id FROM users WHERE pk = ?", Number(due.ref));
      takeDue(tx, due);
      if (!row || !user || !isTracked(tx, row.pk, user.pk)) return;
      const sql = "UPDATE broadcast_tracked SET ended_at = ? WHERE notification = ? AND user = ?";
      tx.run(sql, clock.now(), row.pk, user.pk);
      addActivity(tx, { notificationId: row.id, userId: user.id, type: "tracking-completed" }, by);
    });
}

/** Who is or was followed for a message, by name; at most 1,000 people. */
export function tracksOf(reader: Reader, notificationPk: number): Track[] {
  return reader
    .all<TrackLine>(
      `SELECT u.pk, u.id AS userId, u.name, t.started_at AS startedAt, t.ended_at AS endedAt,
         (SELECT count(*) FROM broadcast_tracks p WHERE p.notification = t.notification AND p.user = t.user) AS count
       FROM broadcast_tracked t JOIN users u ON u.pk = t.user WHERE t.notification = ?
       ORDER BY u.name, u.pk LIMIT ${MOST_PEOPLE}`,
      notificationPk,
    )
    .map(({ pk, ...line }) => ({ ...line, last: positionsOf(reader, notificationPk, pk, 1)[0] ?? null }));
}

type TrackLine = Omit<Track, "last"> & { pk: number } & Record<string, string | number | null>;

/** The newest positions of one person, newest first. */
export function positionsOf(
  reader: Reader,
  notificationPk: number,
  userPk: number,
  most = MOST_POSITIONS,
): TrackedPosition[] {
  return reader.all<TrackedPosition & Record<string, string | number>>(
    `SELECT device AS deviceId, at, longitude, latitude, accuracy_m AS accuracyM FROM broadcast_tracks
     WHERE notification = ? AND user = ? ORDER BY pk DESC LIMIT ?`,
    notificationPk,
    userPk,
    most,
  );
}
