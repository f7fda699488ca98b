import type { NotificationRow } from "../compose/message-builder.ts";

/** What ended a message before its time; null while nothing has. */
export function cancellationReason(
  row: Pick<NotificationRow, "abortedAt" | "expiresAt">,
  now: number,
): "aborted" | "expired" | null {
  if (row.abortedAt !== null) return "aborted";
  return row.expiresAt !== null && row.expiresAt <= now ? "expired" : null;
}
