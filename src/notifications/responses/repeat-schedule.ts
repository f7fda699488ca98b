import confirmationRequests from "../../resources/confirmations/confirmation-requests.ts";
import type { RowOf } from "../../schema/resource.ts";
import type { Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { scheduleTimer } from "./timers.ts";

/** A question to recipients. */
export type ConfirmationRequestRow = RowOf<typeof confirmationRequests>;

/** Notes when a message goes again to whom has not answered, in the transaction that accepts it. */
export function scheduleRepeats(tx: Transaction, row: NotificationRow): void {
  const interval = confirmationRequestOf(tx, row)?.repeatInterval ?? null;
  if (interval === null) return;
  const sentAt = Math.max(row.createdAt, row.heldUntil ?? 0);
  scheduleTimer(tx, row, { kind: "repeat", ref: "1", at: sentAt + interval * 1_000 });
}

/** What a message asks; null for nothing. */
export function confirmationRequestOf(
  tx: Transaction,
  { confirmationRequestId: id }: NotificationRow,
): ConfirmationRequestRow | null {
  return id === null ? null : tx.get(confirmationRequests, id);
}
