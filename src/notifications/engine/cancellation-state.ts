import type { NotificationRow } from "../compose/message-builder.ts";

/** Why a message ended early; null while it has not. */
export function cancellationReason(
  row: Pick<NotificationRow, "abortedAt" | "expiresAt">,
  now: number,
): "aborted" | "expired" | null {
  if (row.abortedAt !== null) return "aborted";
  return row.expiresAt !== null && row.expiresAt <= now ? "expired" : null;
}
