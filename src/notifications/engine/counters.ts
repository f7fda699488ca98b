import type { StoreReader, Transaction } from "../../store/store.ts";

/**
 * What is counted of a notification: people, readers, answers by option, places taken by reply, diary entries by type,
 * and, once it is settled, devices by level.
 */
export type CounterName =
  | "recipients"
  | "readers"
  | `answer:${string}`
  | `places:${number}`
  | `activity:${string}`
  | `level:${string}`;

/** Adds to a number that belongs to a notification (by its internal key), in the transaction that changes what it counts. */
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

/** Adds to a number that belongs to the notification with this id. */
export function incrementCounterById(tx: Transaction, notificationId: string, name: CounterName, by: number): void {
  const row = tx.one<{ pk: number }>("SELECT pk FROM notifications WHERE id = ?", notificationId);
  if (row) incrementCounter(tx, row.pk, name, by);
}

/** The devices of a settled notification by level; from then on they need not be counted any more. */
export function storeLevelCounts(
  tx: Transaction,
  notificationPk: number,
  levels: Readonly<Record<string, number>>,
): void {
  clearLevelCounts(tx, notificationPk);
  for (const [level, n] of Object.entries(levels)) incrementCounter(tx, notificationPk, `level:${level}`, n);
}

/** From now on devices are counted anew: the notification is no longer settled. */
export function clearLevelCounts(tx: Transaction, notificationPk: number): void {
  tx.run("DELETE FROM notification_counters WHERE notification = ? AND name LIKE 'level:%'", notificationPk);
}

/** All numbers of some notifications, by internal key and name; one query. */
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

/** Adds up the devices of notifications that are not settled to their numbers, from an index alone; one query. */
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
