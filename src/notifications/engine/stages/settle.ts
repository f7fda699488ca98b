import { sentence } from "../../../lib/sentences/sentences.ts";
import { MISSED_AUDIO_REASONS } from "../../../resources/notifications/missed-audio.ts";
import notifications from "../../../resources/notifications/notifications.ts";
import type { Transaction } from "../../../store/store.ts";
import type { NotificationRow } from "../../compose/message-builder.ts";
import { addActivity } from "../activity-log.ts";
import type { EngineDeps } from "../broadcast-activator.ts";
import { cancellationReason } from "../cancellation-state.ts";
import { scheduleCatchUp } from "../catch-up.ts";
import { writeInChunks } from "../chunked-writes.ts";
import { storeLevelCounts } from "../counters.ts";
import { advanceStage, type PipelineStage } from "../pipeline-stage.ts";

/** Ends a broadcast: no row stays open, the activity log gets the totals, the address is released. */
export const settle: PipelineStage<EngineDeps> = {
  name: "settle",
  async run(notificationId, deps) {
    const { store, clock } = deps;
    const row = store.get(notifications, notificationId);
    if (!row) return;
    await endOpenRows(row, deps);
    await store.write(
      (tx) => {
        const now = clock.now();
        const streamEndedAt = row.t0 === null ? null : (row.streamEndedAt ?? now);
        tx.update(notifications, notificationId, {}, deps.by, { settledAt: now, streamEndedAt });
        const details = { devices: storeLevelCounts(tx, row.pk) };
        const type = "broadcast-finished";
        addActivity(tx, { notificationId, type, endpointId: deps.endpointId(), details }, deps.by);
        logMissedAudio(tx, row, deps);
        scheduleCatchUp(tx, row, now);
        tx.emit("notification.settled", { notificationId });
        advanceStage(tx, notificationId, "settled");
      },
      deps.laneOf(row.priorityLevel ?? 5),
    );
    if (row.audioGroup && row.audioPort) deps.addresses.release({ group: row.audioGroup, port: row.audioPort });
    deps.activator.deactivate(notificationId);
  },
};

/** Each row has the reason, too, but thousands of rows of reached devices are not read. */
function logMissedAudio(tx: Transaction, row: NotificationRow, { endpointId, by }: EngineDeps): void {
  const found = tx.one<{ n: number }>(
    "SELECT count(*) AS n FROM deliveries WHERE notification_pk = ? AND late = 1 AND reason IN (?, ?)",
    row.pk,
    MISSED_AUDIO_REASONS.asked,
    MISSED_AUDIO_REASONS.joined,
  );
  if (!found?.n) return;
  const code = row.priorityLevel === 0 ? "activity.audio-missed-emergency" : "activity.audio-missed";
  const message = sentence(code, { count: found.n });
  const values = { notificationId: row.id, type: "info" as const, endpointId: endpointId() };
  addActivity(tx, { ...values, details: { message } }, by);
}

/** Only messages that ended before activation leave open rows. */
async function endOpenRows(row: NotificationRow, deps: EngineDeps): Promise<void> {
  const now = deps.clock.now();
  const reason = END_REASONS[cancellationReason(row, now) ?? "given-up"];
  await writeInChunks(deps, deps.laneOf(row.priorityLevel ?? 5), (tx, most) => {
    const { changes } = tx.run(
      `UPDATE deliveries SET
         level = CASE WHEN accepted_at IS NOT NULL THEN level WHEN ${HAS_FAILED} THEN 'failed' ELSE 'expired' END,
         reason = CASE WHEN ${HAS_FAILED} THEN reason ELSE ? END, ended_at = ?
       WHERE pk IN (SELECT pk FROM deliveries WHERE notification_pk = ? AND ended_at IS NULL LIMIT ?)`,
      reason,
      now,
      row.pk,
      most,
    );
    return changes;
  });
  await deps.store.write((tx) => {
    tx.run("DELETE FROM notification_targets WHERE notification = ?", row.pk);
    tx.run("DELETE FROM notification_pending_recipients WHERE notification = ?", row.pk);
  });
}

/** Only a failed attempt gives a reason to a row without proof. */
const HAS_FAILED = "level = 'planned' AND reason IS NOT NULL";

const END_REASONS = {
  aborted: sentence("delivery.aborted"),
  expired: sentence("delivery.expired"),
  "given-up": sentence("delivery.given-up"),
};
