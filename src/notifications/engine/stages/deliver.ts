import { abortable } from "../../../lib/waits.ts";
import notificationActivities from "../../../resources/notifications/notification-activities.ts";
import notifications from "../../../resources/notifications/notifications.ts";
import { writePendingRecipients } from "../../recipients/deferred-recipients.ts";
import { addActivity } from "../activity-log.ts";
import type { EngineDeps } from "../broadcast-activator.ts";
import { findUnreachedChannels } from "../delivery-planner.ts";
import { isHeld } from "../hold-registry.ts";
import { advanceStage, type PipelineStage } from "../pipeline-stage.ts";
import { scheduleQueueLimit } from "../queue-limit.ts";
import { recordUnreachedChannels } from "../unreached-channels.ts";

/**
 * Hands every ledger row to its channel once and starts the audio; recipients too many to be written earlier are
 * written in parallel. Activates the message from its rows, so it may be repeated at any point.
 */
export const deliver: PipelineStage<EngineDeps> = {
  name: "deliver",
  async run(notificationId, deps) {
    const row = deps.store.get(notifications, notificationId);
    if (!row) return;
    if (isHeld(row)) {
      await deps.holds.waitForRelease(row.id, deps.signal);
      // A held message may have been discarded.
      if (!deps.store.get(notifications, notificationId)) return;
    }
    const live = await deps.activator.activate(notificationId);
    const lane = deps.laneOf(live.priority);
    await deps.store.write((tx) => {
      scheduleQueueLimit(tx, row);
      const type = "broadcast-started";
      if (tx.count(notificationActivities, { notificationId, type }) > 0) return;
      addActivity(tx, { notificationId, type, endpointId: deps.endpointId() }, deps.by);
    }, lane);
    const withRest = writePendingRecipients(notificationId, deps).then(() =>
      deps.activator.addDeferredDeliveries(live),
    );
    await Promise.all([abortable(live.handedOver, deps.signal), withRest]);
    if (!live.sound) deps.events.emit("notification.audio-started", { notificationId, at: deps.clock.now() });
    await deps.store.write((tx) => {
      recordUnreachedChannels(tx, notificationId, findUnreachedChannels(tx, row), deps);
      advanceStage(tx, notificationId, "collect");
    }, lane);
  },
};
