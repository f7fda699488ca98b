import confirmationRequests from "../../resources/confirmations/confirmation-requests.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { scheduleTimer } from "./timers.ts";

export type ConfirmationRequestRow = RowOf<typeof confirmationRequests>;

/** Schedules the repeats of a message to recipients who have not answered, in the transaction that accepts it. */
export function scheduleRepeats(tx: Transaction, row: NotificationRow): void {
  const interval = confirmationRequestOf(tx, row)?.repeatInterval ?? null;
  if (interval === null) return;
  const sentAt = Math.max(row.createdAt, row.heldUntil ?? 0);
  scheduleTimer(tx, row, { kind: "repeat", ref: "1", at: sentAt + interval * 1_000 });
}

/** The confirmation request of a message; null for none. */
export function confirmationRequestOf(
  tx: Transaction,
  { confirmationRequestId: id }: NotificationRow,
): ConfirmationRequestRow | null {
  return id === null ? null : tx.get(confirmationRequests, id);
}
