import { storeLevelCounts } from "../../notifications/engine/counters.ts";
import { APPLIANCES_PROVIDER, type DeliveryOutcome } from "../../notifications/engine/delivery-providers.ts";
import { UNREACHED_LEVELS_SQL } from "../../notifications/engine/delivery-state.ts";
import type { OutcomeLevel } from "../../plugin-api/index.ts";
import type { Transaction } from "../../store/store.ts";
import type { CommandOutcome } from "../protocol/frames.ts";

/** What a delivery without a word of its own ends as. */
export const OUTCOME_LEVELS: Readonly<
  Partial<Record<CommandOutcome | "heard", readonly [OutcomeLevel, string | null]>>
> = {
  heard: ["sent", null],
  done: ["failed", "The appliance did not say what became of the device."],
  expired: ["expired", "The appliance got the message too late."],
  cancelled: ["expired", "The message was called off."],
  interrupted: ["failed", "The appliance was restarted while the message sounded."],
  failed: ["failed", "The appliance could not carry the message out."],
  skipped: ["skipped", "Another appliance carried the message out."],
  unknown: ["failed", "It is not known whether the message was heard: the appliance was restored."],
};

/** What an appliance said of one delivery. */
export interface DeliveryReport {
  deliveryId: number;
  level: OutcomeLevel;
  reason: string | null;
}

/**
 * Says of deliveries that were given up here what became of them after all: an appliance that was out of reach tells late.
 */
export function applyLateReports(tx: Transaction, outcomes: readonly DeliveryOutcome[], at: number): void {
  const changed = new Set<number>();
  for (const { deliveryId, level, details } of outcomes) {
    const row = tx.one<{ message: number }>(
      `UPDATE deliveries SET level = ?, reason = ?, updated_at = ?, sent_at = coalesce(sent_at, ?)
       WHERE pk = ? AND provider = '${APPLIANCES_PROVIDER}' AND ended_at IS NOT NULL AND level IN ${UNREACHED_LEVELS_SQL} AND level <> ?
       RETURNING notification_pk AS message`,
      ...[level, details.reason ?? null, at, at, deliveryId, level],
    );
    if (row) changed.add(row.message);
  }
  for (const pk of changed) {
    const message = tx.one<{ id: string; stage: string }>("SELECT id, stage FROM notifications WHERE pk = ?", pk);
    if (message?.stage === "settled") storeLevelCounts(tx, pk, countLevels(tx, pk));
    if (message) tx.emit("deliveries.changed", { notificationId: message.id });
  }
}

function countLevels(tx: Transaction, message: number): Record<string, number> {
  const levels = tx.all<{ level: string; n: number }>(
    "SELECT level, count(*) AS n FROM deliveries WHERE notification_pk = ? GROUP BY level",
    message,
  );
  return Object.fromEntries(levels.map(({ level, n }) => [level, n]));
}

const LEVELS: ReadonlySet<unknown> = new Set<OutcomeLevel>([
  ...(["sent", "accepted", "playing", "heard", "confirmed", "failed", "skipped", "expired"] as const),
]);

/** What an appliance said of single deliveries; what does not look like it is passed over. */
export function parseDeliveryReports(levels: unknown): DeliveryReport[] {
  if (!Array.isArray(levels)) return [];
  return levels.flatMap((entry: unknown) => {
    const [level, reason, deliveries] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (!LEVELS.has(level) || !Array.isArray(deliveries)) return [];
    const words = typeof reason === "string" ? reason.slice(0, 500) : null;
    const ids = deliveries.filter((each): each is number => Number.isSafeInteger(each));
    return ids.map((deliveryId) => ({ deliveryId, level: level as OutcomeLevel, reason: words }));
  });
}
