import { diffRows } from "../protocol/field-merge.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import type { RowBody, TransactionProgram } from "../storage/transaction-program.ts";
import { recordLocalEdit } from "./local-edits.ts";
import { enqueue } from "./outbox.ts";

/** A row that was just written here, by a person or a room. One of the two bodies is given, or both. */
export interface LocalWrite {
  type: string;
  id: string;
  before: RowBody | null;
  after: RowBody | null;
  actor: string;
  at: number;
  newId(): string;
}

/**
 * Sends a write up as its class asks: edits of the cloud's configuration are decided there, own state as it is newest,
 * facts once, and again when more is known of them. Belongs into the transaction that wrote the row. Rows of classes E and local never leave; of A only what
 * must act at once is ever written here. @source replication.md 4
 */
export function* recordLocalWrite(write: LocalWrite, types: ReplicatedTypes): TransactionProgram<void> {
  const { type, id, before, after, actor, at } = write;
  const cls = types.replicationClass(type);
  if (cls === "A" || cls === "B") {
    const edit = diffRows(before, after, types.idListFields(type));
    if (edit) yield* recordLocalEdit({ uid: write.newId(), type, id, edit, before, actor, at, wins: cls === "A" });
  } else if (cls === "C") {
    const op = after ? "p" : "d";
    yield* enqueue("bulk", { uid: write.newId(), op, type, id, body: after, at, newestOnly: true });
  } else if (cls === "D" && after) {
    yield* enqueue("bulk", { uid: write.newId(), op: "p", type, id, body: after, at, newestOnly: before !== null });
  }
}
