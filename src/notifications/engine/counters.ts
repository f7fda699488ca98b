import { DELIVERY_LEVELS, type DeliveryLevel } from "../../resources/notifications/delivery-levels.ts";
import type { OutcomeCounts, ReachVerdict } from "../../resources/notifications/device-outcomes.ts";
import { countOutcomes, reachVerdict } from "../../resources/notifications/outcome-counts.ts";
import type { StoreReader, Transaction } from "../../store/store.ts";

/**
 * Counters of a notification: people, readers, answers by option, quota slots by reply, activity log entries by type,
 * and, once it is settled, devices by level; those of them that show text only are in `text` as well.
 */
export type CounterName =
  | "recipients"
  | "readers"
  | `answer:${string}`
  | `places:${number}`
  | `activity:${string}`
  | `level:${string}`
  | `text:${string}`;

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

/**
 * Counts the devices of a settled notification by level and stores the counts, so that they need not be counted any
 * more. Returns them by level.
 */
export function storeLevelCounts(tx: Transaction, notificationPk: number): Record<string, number> {
  clearLevelCounts(tx, notificationPk);
  const levels: Record<string, number> = {};
  for (const { level, textOnly, n } of countDeliveries(tx, [notificationPk])) {
    incrementCounter(tx, notificationPk, `level:${level}`, n);
    if (textOnly === 1) incrementCounter(tx, notificationPk, `text:${level}`, n);
    levels[level] = (levels[level] ?? 0) + n;
  }
  return levels;
}

interface DeliveryCount {
  notification: number;
  level: string;
  textOnly: number;
  n: number;
}

/** From an index alone; one query. */
function countDeliveries(reader: StoreReader, notificationPks: readonly number[]): DeliveryCount[] {
  return reader.all<DeliveryCount & Record<string, string | number>>(
    `SELECT notification_pk AS notification, level, coalesce(text_only, 0) AS textOnly, count(*) AS n FROM deliveries
     WHERE notification_pk IN (SELECT value FROM json_each(?)) GROUP BY 1, 2, 3`,
    JSON.stringify(notificationPks),
  );
}

/** Drops the stored counts: the notification is no longer settled, so devices are counted again. */
export function clearLevelCounts(tx: Transaction, notificationPk: number): void {
  tx.run(
    "DELETE FROM notification_counters WHERE notification = ? AND (name LIKE 'level:%' OR name LIKE 'text:%')",
    notificationPk,
  );
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

/** Adds the devices of unsettled notifications to their counters. */
export function countLevels(reader: StoreReader, counts: ReadonlyMap<number, Map<string, number>>): void {
  const open = [...counts].filter(([, known]) => ![...known.keys()].some((name) => name.startsWith("level:")));
  if (open.length === 0) return;
  for (const { notification, level, textOnly, n } of countDeliveries(
    reader,
    open.map(([pk]) => pk),
  )) {
    const known = counts.get(notification);
    known?.set(`level:${level}`, (known.get(`level:${level}`) ?? 0) + n);
    if (textOnly === 1) known?.set(`text:${level}`, n);
  }
}

/** Verdicts of the settled ones of some notifications, by id. */
export function readVerdicts(reader: StoreReader, notificationIds: readonly string[]): Map<string, ReachVerdict> {
  const settled = reader.all<{ pk: number; id: string }>(
    "SELECT pk, id FROM notifications WHERE id IN (SELECT value FROM json_each(?)) AND stage = 'settled'",
    JSON.stringify(notificationIds),
  );
  const counts = readCounters(
    reader,
    settled.map(({ pk }) => pk),
  );
  return new Map(settled.map(({ pk, id }) => [id, reachVerdict(outcomesOf(counts.get(pk) ?? new Map()))]));
}

/** The devices of a notification by outcome, from its counters. */
export function outcomesOf(known: ReadonlyMap<string, number>): OutcomeCounts {
  return countOutcomes(
    DELIVERY_LEVELS.flatMap((level: DeliveryLevel) => {
      const text = known.get(`text:${level}`) ?? 0;
      return [
        { level, textOnly: true, n: text },
        { level, textOnly: false, n: (known.get(`level:${level}`) ?? 0) - text },
      ];
    }),
  );
}
