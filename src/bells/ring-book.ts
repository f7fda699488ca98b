import type { Reader, Transaction } from "../store/store.ts";

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
 * the limit), `missed`, `skipped` (there was nothing to send), `suspended`.
 */
export type RingState = OpenState | "rung" | "late" | "missed" | "skipped" | "suspended";

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
}

/** A ring with what became of it. */
export interface RingRecord extends RingRow {
  /** How late it began; null while it has not. */
  lateMs: number | null;
  cause: MissCause | null;
  note: string | null;
}

const COLUMNS = `pk, id, kind, owner, ring_list AS ringListId, entry AS entryId, template AS messageTemplateId,
  local_date AS localDate, local_time AS localTime, at, state`;
const DUE = `SELECT ${COLUMNS} FROM bell_rings WHERE open = 1 AND state = ? AND at <= ? ORDER BY at, id LIMIT ?`;
const NEXT = "SELECT min(at) AS at FROM bell_rings WHERE open = 1 AND state = ?";
const INSERT = `INSERT INTO bell_rings
  (id, kind, owner, ring_list, entry, template, local_date, local_time, at, state, open, asked)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'planned', 1, 0) ON CONFLICT (id) DO NOTHING`;
const RECORDS = `SELECT ${COLUMNS}, late_ms AS lateMs, cause, note FROM bell_rings
  WHERE owner = ? AND at >= ? AND at < ? AND state <> 'withdrawn' ORDER BY at, id LIMIT ?`;

/** Open rings of one state that are due by an instant, the earliest first. */
export function dueRings(reader: Reader, state: OpenState, by: number, most: number): RingRow[] {
  return reader.all<RingRow>(DUE, state, by, most);
}

/** The instant of the earliest open ring of a state; null without one. */
export function nextDue(reader: Reader, state: OpenState): number | null {
  return reader.one<{ at: number | null }>(NEXT, state)?.at ?? null;
}

/** Rings of one owner with what became of them, from `fromMs` (included) to `toMs` (not included), in order of time. */
export function ringRecords(reader: Reader, owner: string, fromMs: number, toMs: number, most = 100_000): RingRecord[] {
  return reader.all<RingRecord>(RECORDS, owner, fromMs, toMs, most);
}

/** Plans a ring; one that is or was there stays as it is. */
export function insertRing(tx: Transaction, kind: OwnerKind, owner: string, ring: Occurrence): void {
  const { id, ringListId, entryId, messageTemplateId, localDate, localTime, at } = ring;
  tx.run(INSERT, id, kind, owner, ringListId, entryId, messageTemplateId, localDate, localTime, at);
}

/** Moves open rings on to another open state. */
export function advanceRings(tx: Transaction, rings: readonly RingRow[], state: OpenState): void {
  const asked = state === "armed" || state === "started" ? ", asked = 1" : "";
  for (const { pk } of rings) tx.run(`UPDATE bell_rings SET state = ?${asked} WHERE pk = ?`, state, pk);
}

/** Ends a ring that began; its state says whether it was late. */
export function endBegun(tx: Transaction, pk: number, state: "rung" | "late"): void {
  tx.run("UPDATE bell_rings SET state = ?, open = 0 WHERE pk = ?", state, pk);
}

/** Writes by how much a ring begins too late. */
export function startRing(tx: Transaction, pk: number, lateMs: number): void {
  tx.run("UPDATE bell_rings SET state = 'started', asked = 1, late_ms = ? WHERE pk = ?", lateMs, pk);
}

/** Ends rings that do not begin. */
export function endSilent(
  tx: Transaction,
  pks: readonly number[],
  state: "missed" | "skipped" | "suspended",
  why: { cause?: MissCause; note?: string },
): void {
  for (const pk of pks) {
    const sql = "UPDATE bell_rings SET state = ?, open = 0, cause = ?, note = ? WHERE pk = ?";
    tx.run(sql, state, why.cause ?? null, why.note ?? null, pk);
  }
}

/** Forgets a ring that is not to be. */
export function dropRing(tx: Transaction, pk: number): void {
  tx.run("DELETE FROM bell_rings WHERE pk = ?", pk);
}

/** The clock went back: what was missed and not begun is due again; answers how many. */
export function reviveMissed(tx: Transaction, now: number): number {
  const sql = `UPDATE bell_rings SET state = 'planned', open = 1, cause = NULL, note = NULL
    WHERE state = 'missed' AND asked = 0 AND at > ?`;
  return tx.run(sql, now).changes;
}
