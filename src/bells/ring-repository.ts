import type { StoreReader, Transaction } from "../store/store.ts";

/** Type of schedule: bell schedule, scheduled notification, display-clear schedule. */
export type OwnerKind = "bell" | "message" | "clearing";

/** A scheduled instant. `id` is the same on every node and is the id of the notification that is sent. */
export interface Occurrence {
  id: string;
  /** Epoch ms. */
  at: number;
  localDate: string;
  localTime: string;
  /** Null unless `kind` is `bell`; so is `entryId`. */
  ringListId: string | null;
  entryId: string | null;
  /** Null if nothing is sent. */
  messageTemplateId: string | null;
}

/**
 * Open states: `planned`, `prepared` (notification stored), `armed` (devices are contacted), `started` (audio starts or is
 * about to), `withdrawn` (cancelled). Final states: `rung`, `late` (within the limit), `missed`, `skipped` (nothing to
 * send).
 */
export type RingState = OpenState | "rung" | "late" | "missed" | "skipped";

export type OpenState = "planned" | "prepared" | "armed" | "started" | "withdrawn";

/** Why a ring was missed: process down, process stalled, clock set forward, process killed during the start, or overload. */
export type MissCause = "down" | "stalled" | "clock" | "cut-off" | "overload";

export interface RingRow extends Occurrence {
  pk: number;
  kind: OwnerKind;
  /** Id of the schedule. */
  owner: string;
  state: RingState;
  /** 1 once devices were contacted, else 0. */
  asked: number;
}

/** A ring with its outcome. */
export interface RingRecord extends RingRow {
  /** Delay of the start in ms; null until started. */
  lateMs: number | null;
  cause: MissCause | null;
  note: string | null;
  /** Number of devices that played it offline. */
  playedAlone: number;
}

const RING_COLUMNS = `pk, id, kind, owner, ring_list AS ringListId, nullif(entry, '') AS entryId, template AS messageTemplateId,
  local_date AS localDate, local_time AS localTime, at, state, asked`;
const SELECT_DUE = `SELECT ${RING_COLUMNS} FROM bell_rings WHERE open = 1 AND state = ? AND at <= ? ORDER BY at, id LIMIT ?`;
const SELECT_DUE_KEYS = `SELECT json_group_array(pk) AS keys FROM (SELECT pk FROM bell_rings
  WHERE open = 1 AND state = ? AND at <= ? ORDER BY at LIMIT ?)`;
const SELECT_BY_KEYS = `SELECT ${RING_COLUMNS} FROM bell_rings WHERE pk IN (SELECT value FROM json_each(?))`;
const SELECT_NEXT_PER_STATE = "SELECT state, min(at) AS at FROM bell_rings WHERE open = 1 AND at <= ? GROUP BY state";
const SELECT_NEXT = "SELECT min(at) AS at FROM bell_rings WHERE open = 1 AND at > ?";
const INSERT_RING = `INSERT INTO bell_rings
  (pk, id, kind, owner, ring_list, entry, template, local_date, local_time, at, state, open, asked)
  VALUES ((SELECT coalesce(max(pk), ?) + 1 FROM bell_rings WHERE pk >= ? AND pk < ?),
    ?, ?, ?, ?, ?, ?, ?, ?, ?, 'planned', 1, 0) ON CONFLICT (owner, local_date, local_time, entry) DO NOTHING`;
const SELECT_RECORDS = `SELECT ${RING_COLUMNS}, late_ms AS lateMs, cause, note,
  (SELECT count(*) FROM bell_offline_rings l WHERE l.ring = bell_rings.id) AS playedAlone FROM bell_rings
  WHERE owner = ? AND at >= ? AND at < ? AND state <> 'withdrawn' ORDER BY at, id LIMIT ?`;

const SELECT_STARTED = `SELECT ${RING_COLUMNS} FROM bell_rings WHERE state = 'started' ORDER BY at, id`;

/** Rings that were started and are not confirmed yet. */
export function startedRings(reader: StoreReader): RingRow[] {
  return reader.all<RingRow>(SELECT_STARTED);
}

/** Keys of the open rings of a state that are due by an instant, earliest first. */
export function dueRingKeys(reader: StoreReader, state: OpenState, by: number, limit: number): number[] {
  return JSON.parse(reader.one<{ keys: string }>(SELECT_DUE_KEYS, state, by, limit)?.keys ?? "[]") as number[];
}

/** Open rings of a state that are due by an instant, earliest first. */
export function dueRings(reader: StoreReader, state: OpenState, by: number, limit: number): RingRow[] {
  return reader.all<RingRow>(SELECT_DUE, state, by, limit);
}

/** Unsorted. */
export function ringsByKey(reader: StoreReader, keys: readonly number[]): RingRow[] {
  return keys.length === 0 ? [] : reader.all<RingRow>(SELECT_BY_KEYS, JSON.stringify(keys));
}

/** The earliest open ring of each state up to `by`, and the first ring after it. */
export function nextRingInstants(reader: StoreReader, by: number): { state: OpenState | null; at: number }[] {
  const near = reader.all<{ state: OpenState | null; at: number }>(SELECT_NEXT_PER_STATE, by);
  const next = reader.one<{ at: number | null }>(SELECT_NEXT, by);
  return next?.at ? [...near, { state: null, at: next.at }] : near;
}

/** Rings of a schedule with their outcomes, from `fromMs` (included) to `toMs` (not included), sorted by time. */
export function ringRecords(
  reader: StoreReader,
  owner: string,
  fromMs: number,
  toMs: number,
  limit = 100_000,
): RingRecord[] {
  return reader.all<RingRecord>(SELECT_RECORDS, owner, fromMs, toMs, limit);
}

const SELECT_PLANNED = `SELECT id, local_date AS localDate, local_time AS localTime FROM bell_rings
  WHERE owner = ? AND at >= ? AND at < ? AND state = 'planned' ORDER BY at, id`;

/** Planned rings of a schedule that are not prepared yet, from `fromMs` (included) to `toMs` (not included). */
export function plannedRingsBetween(
  reader: StoreReader,
  owner: string,
  fromMs: number,
  toMs: number,
): Pick<Occurrence, "id" | "localDate" | "localTime">[] {
  return reader.all(SELECT_PLANNED, owner, fromMs, toMs);
}

/** True if a schedule has no plan or must be replanned. */
export function isPlanDirty(reader: StoreReader, owner: string): boolean {
  return reader.one<{ stale: number }>("SELECT stale FROM bell_plans WHERE owner = ?", owner)?.stale !== 0;
}

/** Inserts a planned ring; an existing row with the same key is not changed, so no ring is ever doubled. */
export function insertRing(tx: Transaction, kind: OwnerKind, owner: string, ring: Occurrence): void {
  const { id, ringListId, entryId, messageTemplateId, localDate, localTime, at } = ring;
  const from = firstKeyAt(at);
  const key = [from, from, firstKeyAt(at + 1_000)];
  tx.run(INSERT_RING, ...key, id, kind, owner, ringListId, entryId ?? "", messageTemplateId, localDate, localTime, at);
}

/** Primary keys follow time, with a million keys per second. */
function firstKeyAt(at: number): number {
  return Math.floor(at / 1_000) * 1_000_000;
}

const SELECT_EXPIRED = "SELECT pk FROM bell_rings WHERE pk < ? AND open = 0 AND at < ? LIMIT ?";

/** True if finished rings from before an instant are left. */
export function hasExpiredRings(reader: StoreReader, before: number): boolean {
  return reader.one(SELECT_EXPIRED, firstKeyAt(before), before, 1) !== null;
}

/** Deletes at most `most` of them; returns the number deleted. */
export function deleteExpiredRings(tx: Transaction, before: number, limit: number): number {
  return tx.run(`DELETE FROM bell_rings WHERE pk IN (${SELECT_EXPIRED})`, firstKeyAt(before), before, limit).changes;
}

/** Advances rings that are still in the state they were read in; returns those. */
export function advanceRings(tx: Transaction, rings: readonly RingRow[], state: OpenState): readonly RingRow[] {
  const asked = state === "armed" ? ", asked = 1" : "";
  return transitionRings(
    tx,
    rings,
    state,
    `UPDATE bell_rings SET state = '${state}'${asked} ${WHERE_STATE_AND_KEYS}`,
    [],
  );
}

/** As `advanceRings`, to `started`; also stores the delay of the start. */
export function startRings(tx: Transaction, rings: readonly RingRow[], now: number): readonly RingRow[] {
  const sql = `UPDATE bell_rings SET state = 'started', asked = 1, late_ms = max(0, ? - at) ${WHERE_STATE_AND_KEYS}`;
  return transitionRings(tx, rings, "started", sql, [now]);
}

/** Returns a prepared ring to `planned`, so that it is prepared again. */
export function resetRingToPlanned(tx: Transaction, pk: number): void {
  tx.run("UPDATE bell_rings SET state = 'planned' WHERE pk = ? AND state = 'prepared'", pk);
}

const WHERE_STATE_AND_KEYS = "WHERE state = ? AND pk IN (SELECT value FROM json_each(?))";

function transitionRings(
  tx: Transaction,
  rings: readonly RingRow[],
  state: OpenState,
  sql: string,
  values: readonly number[],
): readonly RingRow[] {
  const first = rings[0];
  if (!first) return rings;
  const { changes } = tx.run(sql, ...values, first.state, JSON.stringify(rings.map(({ pk }) => pk)));
  if (changes === rings.length) return rings;
  const isThere = "SELECT 1 FROM bell_rings WHERE pk = ? AND state = ?";
  return rings.filter(({ pk }) => tx.one(isThere, pk, state) !== null);
}

/** Finishes rings that started by an instant; those with a delay of more than `lateMs` are late. */
export function finishStartedRings(tx: Transaction, by: number, lateMs: number): void {
  const sql = `UPDATE bell_rings SET state = CASE WHEN late_ms > ? THEN 'late' ELSE 'rung' END, open = 0
    WHERE state = 'started' AND at <= ?`;
  tx.run(sql, lateMs, by);
}

/** Finishes rings that do not start. */
export function finishUnrungRings(
  tx: Transaction,
  pks: readonly number[],
  state: "missed" | "skipped",
  why: { cause?: MissCause; note?: string },
): void {
  for (const pk of pks) {
    const sql = "UPDATE bell_rings SET state = ?, open = 0, cause = ?, note = ? WHERE pk = ?";
    tx.run(sql, state, why.cause ?? null, why.note ?? null, pk);
  }
}

/** Cancelled rings sort before all others. */
export const CANCELLED_RING_AT = 0;

/** Marks a prepared ring as cancelled; the ticker then discards its notification. */
export function cancelRing(tx: Transaction, pk: number): void {
  tx.run("UPDATE bell_rings SET state = 'withdrawn', at = ? WHERE pk = ?", CANCELLED_RING_AT, pk);
}

export function deleteRing(tx: Transaction, pk: number): void {
  tx.run("DELETE FROM bell_rings WHERE pk = ?", pk);
}

const SELECT_PLAYED_OFFLINE = `SELECT ${RING_COLUMNS} FROM bell_rings r WHERE state = 'missed'
  AND EXISTS (SELECT 1 FROM bell_offline_rings l WHERE l.ring = r.id) ORDER BY at`;

/** Missed rings that at least one device played offline. */
export function missedRingsPlayedOffline(reader: StoreReader): RingRow[] {
  return reader.all<RingRow>(SELECT_PLAYED_OFFLINE);
}

/** Marks a missed ring as rung: all its devices played it offline. */
export function markRungOffline(tx: Transaction, pk: number, note: string): void {
  tx.run("UPDATE bell_rings SET state = 'rung', note = ? WHERE pk = ? AND state = 'missed'", note, pk);
}

/** Rings between two instants (epoch ms), or only the one with this id. */
export interface RingRange {
  fromMs: number;
  toMs: number;
  ringId: string | null;
}

/** For each range: true if it contains rings and none of them is still missed. */
export function areMissedRingsResolved(reader: StoreReader, asked: readonly RingRange[]): boolean[] {
  const ranges = asked.map(({ fromMs, toMs, ringId }) => [firstKeyAt(fromMs), firstKeyAt(toMs + 1_000), ringId]);
  const rings = `FROM bell_rings WHERE pk >= x.value ->> 0 AND pk < x.value ->> 1
    AND id = coalesce(x.value ->> 2, id)`;
  const sql = `SELECT EXISTS (SELECT 1 ${rings}) AND NOT EXISTS (SELECT 1 ${rings} AND state = 'missed') AS isMadeUpFor
    FROM json_each(?) x ORDER BY x.key`;
  return reader.all<{ isMadeUpFor: number }>(sql, JSON.stringify(ranges)).map((each) => each.isMadeUpFor === 1);
}

/** After a clock step backward: reopens missed rings that had not been started; returns the number. */
export function reopenMissedRings(tx: Transaction, now: number): number {
  const sql = `UPDATE bell_rings SET state = 'planned', open = 1, cause = NULL, note = NULL
    WHERE state = 'missed' AND asked = 0 AND at > ?`;
  return tx.run(sql, now).changes;
}
