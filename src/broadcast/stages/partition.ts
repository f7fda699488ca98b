import notifications from "../../resources/broadcasts/notifications.ts";
import type { Transaction } from "../../store/store.ts";
import { writeInSlices } from "../slices.ts";
import { advance, type Stage } from "../stage.ts";
import { nextTargets } from "../targets.ts";

/**
 * Says which appliance activates each device: the first reachable one of the device's activation group, else the one that
 * serves it; 0 where none can be reached. What is not ours ends at `queue`, in words. What others prepare as well is ours
 * where nobody else is known to sound it: whose turn it is, is decided at its moment. @source decisions.md 11
 */
export const partition: Stage = {
  name: "partition",
  async run(notificationId, needs) {
    const { store, activations } = needs;
    const row = store.get(notifications, notificationId);
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
    const targets = store.all<{ device: number }>(
      "SELECT device FROM broadcast_targets WHERE notification = ?",
      row.pk,
    );
    const share = await activations.share(
      targets.map(({ device }) => device),
      row.heldUntil !== null,
    );
    const { elsewhere } = share;
    let done = 0;
    const placeElsewhere = (tx: Transaction, most: number): number => {
      const piece = elsewhere.slice(done, done + most);
      tx.run(
        `UPDATE broadcast_targets SET endpoint = x.value ->> 1 FROM json_each(?) x
         WHERE notification = ? AND device = x.value ->> 0`,
        JSON.stringify(piece),
        row.pk,
      );
      done += piece.length;
      return piece.length;
    };
    // Where all is served as usual, no write to the disk stands before the sound.
    if (elsewhere.length > 0) await writeInSlices(needs, lane, placeElsewhere);
    await store.write((tx) => {
      for (const cover of share.covered) {
        tx.run("INSERT OR IGNORE INTO broadcast_covered (notification, cover) VALUES (?, ?)", row.id, cover);
      }
      advance(tx, notificationId, "prepare");
    }, lane);
  },
};
