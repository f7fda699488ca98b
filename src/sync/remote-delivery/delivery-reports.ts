import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import { storeLevelCounts } from "../../notifications/engine/counters.ts";
import { APPLIANCES_PROVIDER, type DeliveryOutcome } from "../../notifications/engine/delivery-providers.ts";
import { UNREACHED_LEVELS_SQL } from "../../notifications/engine/delivery-state.ts";
import type { OutcomeLevel } from "../../plugin-api/index.ts";
import type { Transaction } from "../../store/store.ts";
import type { CommandOutcome } from "../protocol/frames.ts";

/** Level and reason of deliveries that the appliance did not report individually, by the outcome of the command. */
export const OUTCOME_LEVELS: Readonly<
  Partial<Record<CommandOutcome | "heard", readonly [OutcomeLevel, Sentence | null]>>
> = {
  heard: ["sent", null],
  done: ["failed", sentence("delivery.appliance-done")],
  expired: ["expired", sentence("delivery.appliance-expired")],
  cancelled: ["expired", sentence("delivery.appliance-cancelled")],
  interrupted: ["failed", sentence("delivery.appliance-interrupted")],
  failed: ["failed", sentence("delivery.appliance-failed")],
  skipped: ["skipped", sentence("delivery.appliance-skipped")],
  unknown: ["failed", sentence("delivery.appliance-unknown")],
};

/** Result of one delivery, as an appliance reports it. */
export interface DeliveryReport {
  deliveryId: number;
  level: OutcomeLevel;
  reason: string | null;
}

/** Applies results of deliveries that were already given up: an appliance that was out of reach reports late. */
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
    if (message?.stage === "settled") storeLevelCounts(tx, pk);
    if (message) tx.emit("deliveries.changed", { notificationId: message.id });
  }
}

const LEVELS: ReadonlySet<unknown> = new Set<OutcomeLevel>([
  ...(["sent", "accepted", "playing", "heard", "confirmed", "failed", "skipped", "expired"] as const),
]);

/** Parses the delivery results of an appliance; malformed entries are ignored. */
export function parseDeliveryReports(levels: unknown): DeliveryReport[] {
  if (!Array.isArray(levels)) return [];
  return levels.flatMap((entry: unknown) => {
    const [level, reason, deliveries] = Array.isArray(entry) ? (entry as unknown[]) : [];
    if (!LEVELS.has(level) || !Array.isArray(deliveries)) return [];
    const text = typeof reason === "string" ? reason.slice(0, 500) : null;
    const ids = deliveries.filter((each): each is number => Number.isSafeInteger(each));
    return ids.map((deliveryId) => ({ deliveryId, level: level as OutcomeLevel, reason: text }));
  });
}
