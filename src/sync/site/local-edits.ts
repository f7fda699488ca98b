import { applyEdit, type RowEdit } from "../protocol/field-merge.ts";
import type { EditResult } from "../protocol/frames.ts";
import {
  type ApplyResult,
  applyRow,
  deleteRecord,
  getRecord,
  putRecord,
  type RowBody,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";
import { enqueue } from "./outbox.ts";
import { LOCAL_EDITS, type LocalEditRecord, SHADOW_ROWS, type ShadowRow } from "./tables.ts";

/** An edit of a cloud-owned row that was just made here; the product's row is already written. */
export interface LocalEdit {
  uid: string;
  type: string;
  id: string;
  edit: RowEdit;
  /** The row before the edit. */
  before: RowBody | null;
  actor: string;
  at: number;
  /**
   * The edit overrides concurrent changes: locks and revocations act at once.
   * @source docs/decisions/0040-replication.md, Section 4
   */
  wins?: boolean;
}

/** Queues an edit for the cloud's decision. Must run in the transaction that wrote the row. */
export function* recordLocalEdit({
  uid,
  type,
  id,
  edit,
  before,
  actor,
  at,
  wins,
}: LocalEdit): TransactionProgram<void> {
  if (!(yield* getRecord(SHADOW_ROWS, type, id))) yield* putRecord(SHADOW_ROWS, { type, id, body: before });
  const body = { type, id, edit, actor, at, wins: wins ?? false };
  const sequence = yield* enqueue("hot", { uid, op: "p", type: "edit", id: uid, body, at });
  yield* putRecord(LOCAL_EDITS, { uid, sequence, type, id, edit, state: "pending", lost: [], reason: null, actor, at });
}

function* pendingEdits(type: string, id: string): TransactionProgram<LocalEditRecord[]> {
  return yield* scanRecords(LOCAL_EDITS, { by: "row", where: [type, id, "pending"] });
}

/** Writes the cloud's version of a row with pending local edits on top. */
export function* applyCloudVersion(type: string, id: string, body: RowBody | null): TransactionProgram<ApplyResult> {
  const shadow = yield* getRecord(SHADOW_ROWS, type, id);
  if (!shadow) return yield* applyRow(type, id, body);
  const edits = yield* pendingEdits(type, id);
  const shown = edits.reduce<RowBody | null>((row, { edit }) => applyEdit(row, edit), body);
  const applied = yield* applyRow(type, id, shown);
  // The cloud's new version may not accept a local edit that was valid before: it is shown without it.
  const final = typeof applied === "object" && shown !== body ? yield* applyRow(type, id, body) : applied;
  if (final !== "wait") yield* putRecord(SHADOW_ROWS, { ...shadow, body });
  return final;
}

/**
 * Records the results of local edits up to `decided`. Returns the cloud's versions of their rows, to be shown with the
 * remaining pending edits on top.
 */
export function* resolveEdits(decided: number, results: readonly EditResult[]): TransactionProgram<ShadowRow[]> {
  const byUid = new Map(results.map((result) => [result.uid, result]));
  const settled: LocalEditRecord[] = [];
  for (const edit of yield* scanRecords(LOCAL_EDITS, { by: "open", where: ["pending"], upTo: decided })) {
    const found = byUid.get(edit.uid);
    if (!found) continue;
    const { result: state, lost, reason = null } = found;
    const done: LocalEditRecord = { ...edit, state, lost, reason };
    yield* putRecord(LOCAL_EDITS, done);
    settled.push(done);
  }
  const covered: ShadowRow[] = [];
  for (const { type, id } of settled) {
    const shadow = yield* getRecord(SHADOW_ROWS, type, id);
    if (!shadow) continue;
    covered.push(shadow);
    if ((yield* pendingEdits(type, id)).length === 0) yield* deleteRecord(SHADOW_ROWS, type, id);
  }
  return covered;
}

/** Updates the sequence numbers of stored edits after a renumbering. */
export function* renumberEdits(numbers: ReadonlyMap<string, number>): TransactionProgram<void> {
  for (const [uid, sequence] of numbers) {
    const edit = yield* getRecord(LOCAL_EDITS, uid);
    if (edit) yield* putRecord(LOCAL_EDITS, { ...edit, sequence });
  }
}
