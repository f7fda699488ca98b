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

/** An edit of a cloud-owned row, made here just now: the product's row is written already. */
export interface LocalEdit {
  uid: string;
  type: string;
  id: string;
  edit: RowEdit;
  /** The row before the edit. */
  before: RowBody | null;
  actor: string;
  at: number;
  /** Locks and revocations act at once and stand, whatever else was changed. @source replication.md, amendments, class A */
  wins?: boolean;
}

/** Keeps an edit until the cloud has decided, and sends it. Belongs into the transaction that wrote the row. */
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
  yield* putRecord(LOCAL_EDITS, { uid, sequence, type, id, edit, state: "pending", lost: [], actor, at });
}

function* pendingEdits(type: string, id: string): TransactionProgram<LocalEditRecord[]> {
  return yield* scanRecords(LOCAL_EDITS, { by: "row", where: [type, id, "pending"] });
}

/** Writes the cloud's version of a row, with own undecided edits on top where there are any. */
export function* applyCloudVersion(type: string, id: string, body: RowBody | null): TransactionProgram<ApplyResult> {
  const shadow = yield* getRecord(SHADOW_ROWS, type, id);
  if (!shadow) return yield* applyRow(type, id, body);
  const edits = yield* pendingEdits(type, id);
  const shown = edits.reduce<RowBody | null>((row, { edit }) => applyEdit(row, edit), body);
  const applied = yield* applyRow(type, id, shown);
  // What the cloud has now may not take an edit that was fine before: the cloud's version is shown alone.
  const final = typeof applied === "object" && shown !== body ? yield* applyRow(type, id, body) : applied;
  if (final !== "wait") yield* putRecord(SHADOW_ROWS, { ...shadow, body });
  return final;
}

/**
 * Takes the results of own edits up to `decided`. Returns the cloud's versions of their rows, which are to be shown, with
 * what is still undecided on top.
 */
export function* resolveEdits(decided: number, results: readonly EditResult[]): TransactionProgram<ShadowRow[]> {
  const byUid = new Map(results.map((result) => [result.uid, result]));
  const settled: LocalEditRecord[] = [];
  for (const edit of yield* scanRecords(LOCAL_EDITS, { by: "open", where: ["pending"], upTo: decided })) {
    const found = byUid.get(edit.uid);
    if (!found) continue;
    const done: LocalEditRecord = { ...edit, state: found.result, lost: found.lost };
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

/** Gives kept edits the numbers that they have now. */
export function* renumberEdits(numbers: ReadonlyMap<string, number>): TransactionProgram<void> {
  for (const [uid, sequence] of numbers) {
    const edit = yield* getRecord(LOCAL_EDITS, uid);
    if (edit) yield* putRecord(LOCAL_EDITS, { ...edit, sequence });
  }
}
