import type { Log } from "../base/log.ts";
import type { By, Store, Sync } from "../store/store.ts";
import { addToCountOf } from "./counts.ts";
import type { Delivery } from "./delivery.ts";
import { WITHOUT_WORDS } from "./live-ends.ts";
import type { Outcome } from "./providers.ts";
import { sendingOf } from "./sendings.ts";
import { switchOff } from "./switched-off.ts";

/** Levels that a message has which was taken by somebody who may still send it back. */
const TAKEN: readonly string[] = ["sent", "accepted"];

/** A delivery that is on air, and had ended, fails after all; false for one of which more is known. */
export function hasReturned(delivery: Delivery, { level, details }: Outcome): boolean {
  if (!details.returned || level !== "failed" || !TAKEN.includes(delivery.level)) return false;
  delivery.level = "failed";
  delivery.reason = details.reason ?? WITHOUT_WORDS;
  return true;
}

interface ReturnedRow {
  notificationId: string;
  level: string;
  type: string;
  userDevice: number | null;
  isSettled: number;
}

/**
 * The same for a delivery whose message is off air: mails come back after hours. Its row says so, the message's numbers
 * follow, and a person's device of which its channel says that it is gone is switched off. Whatever is not the channel's own
 * is left alone.
 */
export function takeReturn(
  outcome: Outcome,
  needs: { store: Store; log: Log; by: By; clock: { now(): number } },
): void {
  const { deliveryId, provider, level, details } = outcome;
  if (!details.returned || level !== "failed") return;
  const reason = details.reason ?? WITHOUT_WORDS;
  needs.store
    .write((tx) => {
      const row = tx.one<ReturnedRow>(
        `SELECT n.id AS notificationId, d.level, d.type, d.user_device_pk AS userDevice, n.stage = 'settled' AS isSettled
         FROM deliveries d JOIN notifications n ON n.pk = d.notification_pk
         WHERE d.pk = ? AND d.provider = ? AND d.ended_at IS NOT NULL`,
        deliveryId,
        provider,
      );
      if (!row || !TAKEN.includes(row.level)) return null as Sync<null>;
      tx.run(
        "UPDATE deliveries SET level = 'failed', reason = ?, updated_at = ? WHERE pk = ?",
        reason,
        needs.clock.now(),
        deliveryId,
      );
      if (row.isSettled === 1) {
        addToCountOf(tx, row.notificationId, `level:${row.level}`, -1);
        addToCountOf(tx, row.notificationId, "level:failed", 1);
      }
      if (row.userDevice !== null) addToCountOf(tx, row.notificationId, `activity:${sendingOf(row.type)}-failed`, 1);
      return row as Sync<ReturnedRow>;
    })
    .then((row) => row && details.gone && switchOff(row, outcome, needs))
    .catch((error) => needs.log.error({ err: error, deliveryId }, "what came back was not noted"));
}
