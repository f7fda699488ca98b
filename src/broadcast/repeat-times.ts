import confirmationRequests from "../resources/confirmations/confirmation-requests.ts";
import type { RowOf } from "../schema/resource.ts";
import type { Transaction } from "../store/store.ts";
import type { NotificationRow } from "./compose.ts";
import { setDue } from "./due.ts";

/** A question to recipients. */
export type Request = RowOf<typeof confirmationRequests>;

/** Notes when a message goes again to whom has not answered, in the transaction that accepts it. */
export function setRepeats(tx: Transaction, row: NotificationRow): void {
  const interval = requestOf(tx, row)?.repeatInterval ?? null;
  if (interval === null) return;
  const sentAt = Math.max(row.createdAt, row.heldUntil ?? 0);
  setDue(tx, row, { kind: "repeat", ref: "1", at: sentAt + interval * 1_000 });
}

/** What a message asks; null for nothing. */
export function requestOf(tx: Transaction, { confirmationRequestId: id }: NotificationRow): Request | null {
  return id === null ? null : tx.get(confirmationRequests, id);
}
