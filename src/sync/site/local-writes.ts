import { diffRows } from "../protocol/field-merge.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import type { RowBody, TransactionProgram } from "../storage/transaction-program.ts";
import { recordLocalEdit } from "./local-edits.ts";
import { enqueue } from "./outbox.ts";

/** A row that was just written here by a user or a module. At least one of the two bodies is given. */
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
 * Sends a write according to its class: edits of cloud configuration for decision, site state as its newest version, facts
 * once and again when updated. Must run in the transaction that wrote the row. Classes E and local are never sent; of class A
 * only the permitted site edits get here. @source docs/decisions/0040-replication.md, Section 4
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
