import type { StoreReader, Transaction } from "../../store/store.ts";

/**
 * Counters of a notification: people, readers, answers by option, quota slots by reply, activity log entries by type,
 * and, once it is settled, devices by level.
 */
export type CounterName =
  | "recipients"
  | "readers"
  | `answer:${string}`
  | `places:${number}`
  | `activity:${string}`
  | `level:${string}`;

/** Increments a counter of a notification (by its internal key), in the transaction that makes the counted change. */
export function incrementCounter(tx: Transaction, notificationPk: number, name: CounterName, by: number): void {
  if (by === 0) return;
  tx.run(
    `INSERT INTO notification_counters (notification, name, n) VALUES (?, ?, ?)
     ON CONFLICT (notification, name) DO UPDATE SET n = n + excluded.n`,
    notificationPk,
    name,
    by,
  );
}

/** Increments a counter of the notification with this id. */
export function incrementCounterById(tx: Transaction, notificationId: string, name: CounterName, by: number): void {
  const row = tx.one<{ pk: number }>("SELECT pk FROM notifications WHERE id = ?", notificationId);
  if (row) incrementCounter(tx, row.pk, name, by);
}

/** Stores the devices of a settled notification by level, so that they need not be counted any more. */
export function storeLevelCounts(
  tx: Transaction,
  notificationPk: number,
  levels: Readonly<Record<string, number>>,
): void {
  clearLevelCounts(tx, notificationPk);
  for (const [level, n] of Object.entries(levels)) incrementCounter(tx, notificationPk, `level:${level}`, n);
}

/** Drops the stored counts: the notification is no longer settled, so devices are counted again. */
export function clearLevelCounts(tx: Transaction, notificationPk: number): void {
  tx.run("DELETE FROM notification_counters WHERE notification = ? AND name LIKE 'level:%'", notificationPk);
}

/** All counters of some notifications, by internal key and name; one query. */
export function readCounters(
  reader: StoreReader,
  notificationPks: readonly number[],
): Map<number, Map<string, number>> {
  const counts = new Map(notificationPks.map((pk) => [pk, new Map<string, number>()]));
  const lines = reader.all<{ notification: number; name: string; n: number }>(
    "SELECT notification, name, n FROM notification_counters WHERE notification IN (SELECT value FROM json_each(?))",
    JSON.stringify(notificationPks),
  );
  for (const { notification, name, n } of lines) counts.get(notification)?.set(name, n);
  return counts;
}

/** Adds the devices of unsettled notifications to their counters, from an index alone; one query. */
export function countLevels(reader: StoreReader, counts: ReadonlyMap<number, Map<string, number>>): void {
  const open = [...counts].filter(([, known]) => ![...known.keys()].some((name) => name.startsWith("level:")));
  if (open.length === 0) return;
  const lines = reader.all<{ pk: number; level: string; n: number }>(
    `SELECT notification_pk AS pk, level, count(*) AS n FROM deliveries
     WHERE notification_pk IN (SELECT value FROM json_each(?)) GROUP BY notification_pk, level`,
    JSON.stringify(open.map(([pk]) => pk)),
  );
  for (const { pk, level, n } of lines) counts.get(pk)?.set(`level:${level}`, n);
}
