import { abortable } from "../../../lib/abortable.ts";
import notificationActivities from "../../../resources/notifications/notification-activities.ts";
import notifications from "../../../resources/notifications/notifications.ts";
import { writePendingRecipients } from "../../recipients/deferred-recipients.ts";
import { addActivity } from "../activity-log.ts";
import type { EngineDeps } from "../broadcast-activator.ts";
import { isHeld } from "../hold-registry.ts";
import { advanceStage, type PipelineStage } from "../pipeline-stage.ts";
import { scheduleQueueLimit } from "../queue-limit.ts";

/**
 * Hands every row of the ledger to its channel once and lets the sound begin; recipients that were too many to be
 * written before are written meanwhile. Puts the message on air from its rows, so it may be repeated at any point.
 */
export const deliver: PipelineStage<EngineDeps> = {
  name: "deliver",
  async run(notificationId, needs) {
    const row = needs.store.get(notifications, notificationId);
    if (!row) return;
    if (isHeld(row)) {
      await needs.holds.waitForRelease(row.id, needs.signal);
      // What was held back may have been taken away.
      if (!needs.store.get(notifications, notificationId)) return;
    }
    const live = await needs.activator.activate(notificationId);
    const lane = needs.laneOf(live.priority);
    await needs.store.write((tx) => {
      scheduleQueueLimit(tx, row);
      const type = "broadcast-started";
      if (tx.count(notificationActivities, { notificationId, type }) > 0) return;
      addActivity(tx, { notificationId, type, endpointId: needs.endpointId() }, needs.by);
    }, lane);
    const withRest = writePendingRecipients(notificationId, needs).then(() =>
      needs.activator.addDeferredDeliveries(live),
    );
    await Promise.all([abortable(live.handedOver, needs.signal), withRest]);
    if (!live.sound) needs.events.emit("notification.audio-started", { notificationId, at: needs.clock.now() });
    await needs.store.write((tx) => advanceStage(tx, notificationId, "collect"), lane);
  },
};
