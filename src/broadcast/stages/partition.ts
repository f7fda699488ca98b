import notifications from "../../resources/broadcasts/notifications.ts";
import { writeInSlices } from "../slices.ts";
import { advance, type Stage } from "../stage.ts";
import { nextTargets } from "../targets.ts";

/** Says which appliance reaches each device: the one that serves it. What is not ours ends at `queue`, in words. */
export const partition: Stage = {
  name: "partition",
  async run(notificationId, needs) {
    const row = needs.store.get(notifications, notificationId);
    if (!row) return;
    const lane = needs.laneOf(row.priorityLevel ?? 5);
    let after = 0;
    await writeInSlices(needs, lane, (tx, most) => {
      const range = nextTargets(tx, row.pk, after, most);
      if (!range) return 0;
      tx.run(
        `UPDATE broadcast_targets SET endpoint = (SELECT d.endpoint_pk FROM devices d WHERE d.pk = device)
         WHERE notification = ? AND device > ? AND device <= ?`,
        row.pk,
        range.after,
        range.upTo,
      );
      after = range.upTo;
      return range.count;
    });
    await needs.store.write((tx) => advance(tx, notificationId, "prepare"), lane);
  },
};
