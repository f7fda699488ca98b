import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { createTimeSlice } from "../../lib/time-slice.ts";
import type { Store, Transaction } from "../../store/store.ts";
import { storeLevelCounts } from "../engine/counters.ts";

/** Rows that were removed; `answers` are recipients whose answer was cleared. */
export interface RemovedRows {
  deliveries: number;
  recipients: number;
  activities: number;
  answers: number;
  positions: number;
}

interface RemovalDeps {
  store: Pick<Store, "write" | "all">;
  clock: Clock;
  signal: AbortSignal;
}

/** One kind of row of a notification: its statement takes the notification's key and removes at most `ROWS_PER_STEP`. */
interface Step {
  counted: keyof RemovedRows | null;
  remove(tx: Transaction, notificationPk: number): number;
}

/** Rows between two looks at the clock; a delivery with its indexes takes some 20 µs. */
const ROWS_PER_STEP = 50;
/** Rows of one transaction, however fast the machine is. */
const MAX_STEPS = 20;

const byPk = (table: string, where = ""): string =>
  `DELETE FROM main.${table} WHERE pk IN (SELECT pk FROM ${table} WHERE notification_pk = ?${where} LIMIT ${ROWS_PER_STEP})`;
const byKey = (table: string, column: string): string =>
  `DELETE FROM main.${table} WHERE (notification, ${column}) IN
     (SELECT notification, ${column} FROM ${table} WHERE notification = ? LIMIT ${ROWS_PER_STEP})`;
const step = (counted: Step["counted"], sql: string): Step => ({
  counted,
  remove: (tx, notificationPk) => tx.run(sql, notificationPk).changes,
});

/** Sums by place and level, added in the transaction that deletes the deliveries they count. */
const ADD_PLACE_SUMS = `INSERT INTO notification_place_sums (notification, place, level, n)
  SELECT l.notification_pk, coalesce(b.name, ''), l.level, count(*) FROM deliveries l
    LEFT JOIN devices d ON d.pk = l.device_pk LEFT JOIN zones z ON z.pk = d.zone_pk
    LEFT JOIN floors f ON f.pk = z.floor_pk LEFT JOIN buildings b ON b.pk = f.building_pk
  WHERE l.pk IN (SELECT value FROM json_each(?)) GROUP BY 1, 2, 3
  ON CONFLICT (notification, place, level) DO UPDATE SET n = n + excluded.n`;

const removeDeliveries: Step = {
  counted: "deliveries",
  remove(tx, notificationPk) {
    const rows = tx.all<{ pk: number }>(
      `SELECT pk FROM deliveries WHERE notification_pk = ? LIMIT ${ROWS_PER_STEP}`,
      notificationPk,
    );
    if (rows.length === 0) return 0;
    const pks = JSON.stringify(rows.map(({ pk }) => pk));
    tx.run(ADD_PLACE_SUMS, pks);
    return tx.run("DELETE FROM main.deliveries WHERE pk IN (SELECT value FROM json_each(?))", pks).changes;
  },
};

const ANSWERED = "(confirmation_response IS NOT NULL OR dynamic_reply IS NOT NULL)";
const ANSWER_STEPS: readonly Step[] = [
  step(
    "answers",
    `UPDATE main.notification_recipients SET confirmation_response = NULL, confirmation_response_timestamp = NULL,
       dynamic_reply = NULL WHERE pk IN
         (SELECT pk FROM notification_recipients WHERE notification_pk = ? AND ${ANSWERED} LIMIT ${ROWS_PER_STEP})`,
  ),
  step("activities", byPk("notification_activities", " AND confirmation_option IS NOT NULL")),
  step(null, byKey("notification_reply_slots", "recipient")),
];
const DETAIL_STEPS: readonly Step[] = [
  removeDeliveries,
  step("recipients", byPk("notification_recipients")),
  step("activities", byPk("notification_activities")),
  step(
    "positions",
    `DELETE FROM notification_tracked_positions WHERE pk IN
       (SELECT pk FROM notification_tracked_positions WHERE notification = ? LIMIT ${ROWS_PER_STEP})`,
  ),
  step(null, byKey("notification_device_starts", "delivery")),
  step(null, byKey("notification_reply_slots", "recipient")),
  step(null, byKey("notification_tracked_users", "user")),
];

/** Removes all rows about single devices and people of a notification; its counters and sums by place stay. */
export function removeDetails(deps: RemovalDeps, notificationPk: number): Promise<RemovedRows> {
  return removeInTurns(deps, notificationPk, DETAIL_STEPS, "details_at");
}

/** Removes who answered what; the counts of the answers stay. */
export function removeAnswers(deps: RemovalDeps, notificationPk: number): Promise<RemovedRows> {
  return removeInTurns(deps, notificationPk, ANSWER_STEPS, "answers_at");
}

/** Each transaction is one short turn; a run that is cut off goes on where it was. */
async function removeInTurns(
  { store, clock, signal }: RemovalDeps,
  notificationPk: number,
  steps: readonly Step[],
  doneColumn: "details_at" | "answers_at",
): Promise<RemovedRows> {
  const total: RemovedRows = { deliveries: 0, recipients: 0, activities: 0, answers: 0, positions: 0 };
  for (let isDone = false; !isDone && !signal.aborted; ) {
    const turn = await store.write((tx) => {
      if (steps === DETAIL_STEPS) completeCounters(tx, notificationPk);
      return removeRows(tx, { notificationPk, steps, doneColumn, clock });
    }, "normal");
    for (const [name, n] of turn.removed) total[name] += n;
    isDone = turn.isDone;
    await yieldToEventLoop(clock);
  }
  return total;
}

function removeRows(
  tx: Transaction,
  work: { notificationPk: number; steps: readonly Step[]; doneColumn: string; clock: Clock },
): { removed: [keyof RemovedRows, number][]; isDone: boolean } {
  const { notificationPk, steps, doneColumn, clock } = work;
  const slice = createTimeSlice(clock);
  const removed: [keyof RemovedRows, number][] = [];
  let taken = 0;
  for (const { counted, remove } of steps) {
    for (;;) {
      if (slice.isOver() || taken++ >= MAX_STEPS) return { removed, isDone: false };
      const n = remove(tx, notificationPk);
      if (n === 0) break;
      if (counted) removed.push([counted, n]);
    }
  }
  tx.run(
    `INSERT INTO notification_removed_details (notification, ${doneColumn}) VALUES (?, ?)
     ON CONFLICT (notification) DO UPDATE SET ${doneColumn} = excluded.${doneColumn}`,
    notificationPk,
    clock.now(),
  );
  return { removed, isDone: true };
}

/** Messages of early releases were settled without counting their devices. */
function completeCounters(tx: Transaction, notificationPk: number): void {
  const sql =
    "SELECT 1 FROM notification_counters WHERE notification = ? AND name >= 'level:' AND name < 'level;' LIMIT 1";
  if (tx.one(sql, notificationPk) === null) storeLevelCounts(tx, notificationPk);
}

const POSITIONS_PER_TURN = 200;

/** Removes positions reported before `before`, except those of incidents that are open or under legal hold. */
export async function removePositions(
  { store, clock, signal }: RemovalDeps,
  before: number,
): Promise<{ positions: number }> {
  let positions = 0;
  for (let after = 0; !signal.aborted; ) {
    const page = store.all<{ pk: number; due: number }>(
      `SELECT p.pk, (p.at < ? AND NOT EXISTS (SELECT 1 FROM notifications n JOIN incidents i ON i.pk = n.incident_pk
         WHERE n.pk = p.notification AND (i.ended_at IS NULL OR i.legal_hold = 1))) AS due
       FROM notification_tracked_positions p WHERE p.pk > ? ORDER BY p.pk LIMIT ${POSITIONS_PER_TURN}`,
      before,
      after,
    );
    const due = JSON.stringify(page.filter((row) => row.due === 1).map(({ pk }) => pk));
    const sql = "DELETE FROM notification_tracked_positions WHERE pk IN (SELECT value FROM json_each(?))";
    if (due !== "[]") positions += await store.write((tx) => tx.run(sql, due).changes);
    const last = page.at(-1);
    if (page.length < POSITIONS_PER_TURN || !last) break;
    after = last.pk;
    await yieldToEventLoop(clock);
  }
  return { positions };
}
