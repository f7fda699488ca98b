import type { EditResult } from "../frames.ts";
import { type Edit, overlaid } from "../merge.ts";
import { type Applied, applyRow, type Body, drop, get, put, scan, type Work } from "../work.ts";
import { enqueue } from "./outbox.ts";
import { EDITS, type OwnEdit, SHADOW, type Shadow } from "./tables.ts";

/** An edit of a cloud-owned row, made here just now: the product's row is written already. */
export interface NewEdit {
  uid: string;
  type: string;
  id: string;
  edit: Edit;
  /** The row before the edit. */
  before: Body | null;
  actor: string;
  at: number;
  /** Locks and revocations act at once and stand, whatever else was changed. @source replication.md, amendments, class A */
  wins?: boolean;
}

/** Keeps an edit until the cloud has decided, and sends it. Belongs into the transaction that wrote the row. */
export function* recordEdit({ uid, type, id, edit, before, actor, at, wins }: NewEdit): Work<void> {
  if (!(yield* get(SHADOW, type, id))) yield* put(SHADOW, { type, id, body: before });
  const body = { type, id, edit, actor, at, wins: wins ?? false };
  const oseq = yield* enqueue("hot", { uid, op: "p", type: "edit", id: uid, body, at });
  yield* put(EDITS, { uid, oseq, type, id, edit, state: "pending", lost: [], actor, at });
}

function* pendingEdits(type: string, id: string): Work<OwnEdit[]> {
  return yield* scan(EDITS, { by: "row", where: [type, id, "pending"] });
}

/** Writes the cloud's version of a row, with own undecided edits on top where there are any. */
export function* showBase(type: string, id: string, body: Body | null): Work<Applied> {
  const shadow = yield* get(SHADOW, type, id);
  if (!shadow) return yield* applyRow(type, id, body);
  const edits = yield* pendingEdits(type, id);
  const shown = edits.reduce<Body | null>((row, { edit }) => overlaid(row, edit), body);
  const applied = yield* applyRow(type, id, shown);
  // What the cloud has now may not take an edit that was fine before: the cloud's version is shown alone.
  const final = typeof applied === "object" && shown !== body ? yield* applyRow(type, id, body) : applied;
  if (final !== "wait") yield* put(SHADOW, { ...shadow, body });
  return final;
}

/**
 * Takes the results of own edits up to `decided`. Returns the cloud's versions of their rows, which are to be shown, with
 * what is still undecided on top.
 */
export function* settleEdits(decided: number, results: readonly EditResult[]): Work<Shadow[]> {
  const byUid = new Map(results.map((result) => [result.uid, result]));
  const settled: OwnEdit[] = [];
  for (const edit of yield* scan(EDITS, { by: "open", where: ["pending"], upTo: decided })) {
    const found = byUid.get(edit.uid);
    if (!found) continue;
    const done: OwnEdit = { ...edit, state: found.result, lost: found.lost };
    yield* put(EDITS, done);
    settled.push(done);
  }
  const covered: Shadow[] = [];
  for (const { type, id } of settled) {
    const shadow = yield* get(SHADOW, type, id);
    if (!shadow) continue;
    covered.push(shadow);
    if ((yield* pendingEdits(type, id)).length === 0) yield* drop(SHADOW, type, id);
  }
  return covered;
}

/** Gives kept edits the numbers that they have now. */
export function* renumberEdits(numbers: ReadonlyMap<string, number>): Work<void> {
  for (const [uid, oseq] of numbers) {
    const edit = yield* get(EDITS, uid);
    if (edit) yield* put(EDITS, { ...edit, oseq });
  }
}
