import { mergeEdit } from "../protocol/field-merge.ts";
import { findMissingReferences, withoutReferences } from "../protocol/missing-references.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import {
  applyRow,
  deleteRecord,
  getRecord,
  putRecord,
  type RowBody,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";
import { publishWrittenRows, withUniqueName } from "./publish.ts";
import { FEED_RECORDS, LATE_RESULTS, type LateResult, WAITING_EDITS, type WaitingEdit } from "./tables.ts";

/** Rows of one circle of references. @source docs/decisions/0465-waiting-edits.md */
const MAX_CIRCLE = 200;

/** A row of a circle: as it will be, and the edit that it waits with. */
interface CircleRow {
  edit: WaitingEdit;
  body: RowBody;
  lost: readonly string[];
}

/** The first edit that waits for its turn on a row; with `endpoint` the first of that appliance. */
export function* firstWaitingEdit(type: string, id: string, endpoint?: string): TransactionProgram<WaitingEdit | null> {
  if (endpoint === undefined)
    return (yield* scanRecords(WAITING_EDITS, { by: "row", where: [type, id], limit: 1 }))[0] ?? null;
  return (yield* scanRecords(WAITING_EDITS, { by: "turn", where: [endpoint, type, id], limit: 1 }))[0] ?? null;
}

/** Adds an edit that is tried at `at`, or notes that it was tried once more. */
export function* addWaitingEdit(edit: Omit<WaitingEdit, "place" | "triedAt">): TransactionProgram<void> {
  const known = yield* getRecord(WAITING_EDITS, edit.uid);
  const [newest] = yield* scanRecords(WAITING_EDITS, { by: "arrival", newestFirst: true, limit: 1 });
  const place = known?.place ?? (newest?.place ?? 0) + 1;
  yield* putRecord(WAITING_EDITS, { ...edit, place, at: known?.at ?? edit.at, triedAt: edit.at });
}

/** Queues a result for an appliance that was sent results of later edits already. */
export function* addLateResult(result: Omit<LateResult, "place">): TransactionProgram<void> {
  const where = [result.endpoint];
  const [newest] = yield* scanRecords(LATE_RESULTS, { where, newestFirst: true, limit: 1 });
  const { endpoint, uid, lost, reason = null, at } = result;
  const place = (newest?.place ?? 0) + 1;
  yield* putRecord(LATE_RESULTS, { endpoint, uid, lost, reason, at, result: result.result, place });
}

/**
 * Writes rows that refer to each other in a circle, once all of them are here: first without the references to missing
 * rows, then as they are. Returns the edits that are done; none while a row is missing.
 */
export function* writeCircle(
  start: WaitingEdit,
  types: ReplicatedTypes,
  at: number,
): TransactionProgram<{ edit: WaitingEdit; lost: readonly string[] }[]> {
  const circle = yield* findCircle(start, types);
  if (!circle) return [];
  const written = yield* writeWithoutMissing(circle, types);
  const done: { edit: WaitingEdit; lost: readonly string[] }[] = [];
  for (const { edit, body, lost } of written) {
    const { type, id } = edit;
    const isWhole = (yield* applyRow(type, id, body)) === "done";
    const missing = isWhole ? [] : yield* findMissingReferences({ type, id, body }, types);
    const scope = (yield* getRecord(FEED_RECORDS, type, id))?.scope ?? null;
    yield* publishWrittenRows([{ type, id, body: withoutReferences(body, missing), scope, at }], types);
    yield* deleteRecord(WAITING_EDITS, edit.uid);
    done.push({ edit, lost: [...new Set([...lost, ...missing.map(({ name }) => name)])] });
  }
  return done;
}

/** All waiting rows that a row needs, with itself; null if one of them has not arrived, or there are too many. */
function* findCircle(start: WaitingEdit, types: ReplicatedTypes): TransactionProgram<CircleRow[] | null> {
  const circle = new Map<string, CircleRow>();
  const queue = [start];
  for (let edit = queue.shift(); edit; edit = queue.shift()) {
    const { type, id } = edit;
    if (circle.has(`${type}/${id}`)) continue;
    const current = (yield* getRecord(FEED_RECORDS, type, id))?.body ?? null;
    const { body: merged, lost } = mergeEdit(current, edit.record.edit, types.replicationClass(type) === "A");
    if (!merged || circle.size >= MAX_CIRCLE) return null;
    const body = yield* withUniqueName(type, id, merged, types);
    circle.set(`${type}/${id}`, { edit, body, lost });
    for (const { to, id: target } of yield* findMissingReferences({ type, id, body }, types)) {
      const other = yield* firstWaitingEdit(to, target);
      if (!other) return null;
      queue.push(other);
    }
  }
  return [...circle.values()];
}

/** Each row that is written may let another one follow. */
function* writeWithoutMissing(circle: readonly CircleRow[], types: ReplicatedTypes): TransactionProgram<CircleRow[]> {
  const written: CircleRow[] = [];
  let open = [...circle];
  for (let before = open.length + 1; open.length > 0 && open.length < before; ) {
    before = open.length;
    const left: CircleRow[] = [];
    for (const row of open) {
      const { type, id } = row.edit;
      const missing = yield* findMissingReferences({ type, id, body: row.body }, types);
      const isDone = (yield* applyRow(type, id, withoutReferences(row.body, missing))) === "done";
      (isDone ? written : left).push(row);
    }
    open = left;
  }
  return written;
}
