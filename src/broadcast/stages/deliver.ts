import notificationActivities from "../../resources/broadcasts/notification-activities.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import { addActivity } from "../activities.ts";
import type { EngineNeeds } from "../air.ts";
import { isHeld } from "../gates.ts";
import { finishRecipients } from "../open-recipients.ts";
import { setQueueLimit } from "../queue-limit.ts";
import { advance, type Stage } from "../stage.ts";
import { untilAborted } from "../until-aborted.ts";

/**
 * Hands every row of the ledger to its channel once and lets the sound begin; recipients that were too many to be
 * written before are written meanwhile. Puts the message on air from its rows, so it may be repeated at any point.
 */
export const deliver: Stage<EngineNeeds> = {
  name: "deliver",
  async run(notificationId, needs) {
    const row = needs.store.get(notifications, notificationId);
    if (!row) return;
    if (isHeld(row)) {
      await needs.gates.released(row.id, needs.signal);
      // What was held back may have been taken away.
      if (!needs.store.get(notifications, notificationId)) return;
    }
    const live = await needs.air.take(notificationId);
    const lane = needs.laneOf(live.priority);
    await needs.store.write((tx) => {
      setQueueLimit(tx, row);
      const type = "broadcast-started";
      if (tx.count(notificationActivities, { notificationId, type }) > 0) return;
      addActivity(tx, { notificationId, type, endpointId: needs.endpointId() }, needs.by);
    }, lane);
    const withRest = finishRecipients(notificationId, needs).then(() => needs.air.addNewRows(live));
    await Promise.all([untilAborted(live.handedOver, needs.signal), withRest]);
    if (!live.sound) needs.events.emit("sound.began", { notificationId, at: needs.clock.now() });
    await needs.store.write((tx) => advance(tx, notificationId, "collect"), lane);
  },
};
