import type { StoreReader, Transaction } from "../store/store.ts";

/** What is planned: bells of a schedule, a message of a rule, the clearing of devices. */
export type OwnerKind = "bell" | "message" | "clearing";

/** Something that is due at an instant. `id` is its name on every appliance and that of the message it sends. */
export interface Occurrence {
  id: string;
  /** Epoch ms. */
  at: number;
  localDate: string;
  localTime: string;
  /** Null for what is no bell; so is `entryId`. */
  ringListId: string | null;
  entryId: string | null;
  /** Null where nothing is sent. */
  messageTemplateId: string | null;
}

/**
 * How far a ring has come. On the way: `planned`, `prepared` (its message is stored), `armed` (devices are asked),
 * `started` (it sounds, or is about to), `withdrawn` (it is not to ring after all). At the end: `rung`, `late` (by up to
 * the limit), `missed`, `skipped` (there was nothing to send).
 */
export type RingState = OpenState | "rung" | "late" | "missed" | "skipped";

/** States that are not the last one. */
export type OpenState = "planned" | "prepared" | "armed" | "started" | "withdrawn";

/** Why a ring was missed: the appliance was off, stood still, had its clock set forward, was cut off, or was too slow. */
export type MissCause = "down" | "stalled" | "clock" | "cut-off" | "overload";

/** A planned ring as it is stored. */
export interface RingRow extends Occurrence {
  pk: number;
  kind: OwnerKind;
  /** Id of the schedule. */
  owner: string;
  state: RingState;
  /** 1 once devices were told of it, else 0. */
  asked: number;
}

/** A ring with what became of it. */
export interface RingRecord extends RingRow {
  /** How late it began; null while it has not. */
  lateMs: number | null;
  cause: MissCause | null;
  note: string | null;
  /** Devices that played it by themselves while the appliance was gone. */
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

/** All rings that were started and are not known to have sounded. */
export function startedRings(reader: StoreReader): RingRow[] {
  return reader.all<RingRow>(SELECT_STARTED);
}

/** Keys of the open rings of one state that are due by an instant, the earliest first. */
export function dueRingKeys(reader: StoreReader, state: OpenState, by: number, most: number): number[] {
  return JSON.parse(reader.one<{ keys: string }>(SELECT_DUE_KEYS, state, by, most)?.keys ?? "[]") as number[];
}

/** Open rings of one state that are due by an instant, the earliest first. */
export function dueRings(reader: StoreReader, state: OpenState, by: number, most: number): RingRow[] {
  return reader.all<RingRow>(SELECT_DUE, state, by, most);
}

/** Rings by their keys, without order. */
export function ringsByKey(reader: StoreReader, keys: readonly number[]): RingRow[] {
  return keys.length === 0 ? [] : reader.all<RingRow>(SELECT_BY_KEYS, JSON.stringify(keys));
}

/** The earliest instants of the open rings of each state up to `by`, and that of the first one after it. */
export function nextRingInstants(reader: StoreReader, by: number): { state: OpenState | null; at: number }[] {
  const near = reader.all<{ state: OpenState | null; at: number }>(SELECT_NEXT_PER_STATE, by);
  const next = reader.one<{ at: number | null }>(SELECT_NEXT, by);
  return next?.at ? [...near, { state: null, at: next.at }] : near;
}

/** Rings of one owner with what became of them, from `fromMs` (included) to `toMs` (not included), in order of time. */
export function ringRecords(
  reader: StoreReader,
  owner: string,
  fromMs: number,
  toMs: number,
  most = 100_000,
): RingRecord[] {
  return reader.all<RingRecord>(SELECT_RECORDS, owner, fromMs, toMs, most);
}

const SELECT_PLANNED = `SELECT id, local_date AS localDate, local_time AS localTime FROM bell_rings
  WHERE owner = ? AND at >= ? AND at < ? AND state = 'planned' ORDER BY at, id`;

/** Rings of one owner that are planned and not begun with, from `fromMs` (included) to `toMs` (not included). */
export function plannedRingsBetween(
  reader: StoreReader,
  owner: string,
  fromMs: number,
  toMs: number,
): Pick<Occurrence, "id" | "localDate" | "localTime">[] {
  return reader.all(SELECT_PLANNED, owner, fromMs, toMs);
}

/** True while an owner has no plan, or one that is to be made anew. */
export function isPlanDirty(reader: StoreReader, owner: string): boolean {
  return reader.one<{ stale: number }>("SELECT stale FROM bell_plans WHERE owner = ?", owner)?.stale !== 0;
}

/** Plans a ring; one that is or was there stays as it is. */
export function insertRing(tx: Transaction, kind: OwnerKind, owner: string, ring: Occurrence): void {
  const { id, ringListId, entryId, messageTemplateId, localDate, localTime, at } = ring;
  const from = firstKeyAt(at);
  const key = [from, from, firstKeyAt(at + 1_000)];
  tx.run(INSERT_RING, ...key, id, kind, owner, ringListId, entryId ?? "", messageTemplateId, localDate, localTime, at);
}

/** Room for the keys of a million rings in each second. */
function firstKeyAt(at: number): number {
  return Math.floor(at / 1_000) * 1_000_000;
}

const SELECT_EXPIRED = "SELECT pk FROM bell_rings WHERE pk < ? AND open = 0 AND at < ? LIMIT ?";

/** True when something is left of rings that were due before an instant and are over. */
export function hasExpiredRings(reader: StoreReader, before: number): boolean {
  return reader.one(SELECT_EXPIRED, firstKeyAt(before), before, 1) !== null;
}

/** Forgets at most so many of them; answers how many. */
export function deleteExpiredRings(tx: Transaction, before: number, most: number): number {
  return tx.run(`DELETE FROM bell_rings WHERE pk IN (${SELECT_EXPIRED})`, firstKeyAt(before), before, most).changes;
}

/** Moves rings on that are still in the state they were read in; answers those. */
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

/** As `advanceRings`, to `started`: writes by how much they begin too late. */
export function startRings(tx: Transaction, rings: readonly RingRow[], now: number): readonly RingRow[] {
  const sql = `UPDATE bell_rings SET state = 'started', asked = 1, late_ms = max(0, ? - at) ${WHERE_STATE_AND_KEYS}`;
  return transitionRings(tx, rings, "started", sql, [now]);
}

/** A ring that waits for its moment is to be made ready anew. */
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

/** Ends all rings that were started by an instant; those that began more than `lateMs` after their time were late. */
export function finishStartedRings(tx: Transaction, by: number, lateMs: number): void {
  const sql = `UPDATE bell_rings SET state = CASE WHEN late_ms > ? THEN 'late' ELSE 'rung' END, open = 0
    WHERE state = 'started' AND at <= ?`;
  tx.run(sql, lateMs, by);
}

/** Ends rings that do not begin. */
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

/** Rings that are to be withdrawn come before all others. */
export const CANCELLED_RING_AT = 0;

/** A ring whose message is made ready is not to be. */
export function cancelRing(tx: Transaction, pk: number): void {
  tx.run("UPDATE bell_rings SET state = 'withdrawn', at = ? WHERE pk = ?", CANCELLED_RING_AT, pk);
}

/** Forgets a ring that is not to be. */
export function deleteRing(tx: Transaction, pk: number): void {
  tx.run("DELETE FROM bell_rings WHERE pk = ?", pk);
}

const SELECT_PLAYED_OFFLINE = `SELECT ${RING_COLUMNS} FROM bell_rings r WHERE state = 'missed'
  AND EXISTS (SELECT 1 FROM bell_offline_rings l WHERE l.ring = r.id) ORDER BY at`;

/** Rings that the appliance missed and at least one device has played by itself. */
export function missedRingsPlayedOffline(reader: StoreReader): RingRow[] {
  return reader.all<RingRow>(SELECT_PLAYED_OFFLINE);
}

/** A ring that was missed was played by its devices. */
export function markRungOffline(tx: Transaction, pk: number, note: string): void {
  tx.run("UPDATE bell_rings SET state = 'rung', note = ? WHERE pk = ? AND state = 'missed'", note, pk);
}

/** Rings between two instants (epoch ms), or the one of them with this id. */
export interface RingRange {
  fromMs: number;
  toMs: number;
  ringId: string | null;
}

/** For each: true when such rings are known and none of them is missed any more. */
export function areMissedRingsResolved(reader: StoreReader, asked: readonly RingRange[]): boolean[] {
  const ranges = asked.map(({ fromMs, toMs, ringId }) => [firstKeyAt(fromMs), firstKeyAt(toMs + 1_000), ringId]);
  const rings = `FROM bell_rings WHERE pk >= x.value ->> 0 AND pk < x.value ->> 1
    AND id = coalesce(x.value ->> 2, id)`;
  const sql = `SELECT EXISTS (SELECT 1 ${rings}) AND NOT EXISTS (SELECT 1 ${rings} AND state = 'missed') AS isMadeUpFor
    FROM json_each(?) x ORDER BY x.key`;
  return reader.all<{ isMadeUpFor: number }>(sql, JSON.stringify(ranges)).map((each) => each.isMadeUpFor === 1);
}

/** The clock went back: what was missed and not begun is due again; answers how many. */
export function reopenMissedRings(tx: Transaction, now: number): number {
  const sql = `UPDATE bell_rings SET state = 'planned', open = 1, cause = NULL, note = NULL
    WHERE state = 'missed' AND asked = 0 AND at > ?`;
  return tx.run(sql, now).changes;
}
