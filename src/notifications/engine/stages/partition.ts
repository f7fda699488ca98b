import notifications from "../../../resources/notifications/notifications.ts";
import type { Transaction } from "../../../store/store.ts";
import { endpointPkOf } from "../../recipients/recipient-writer.ts";
import { nextTargets } from "../../recipients/target-ranges.ts";
import { writeInChunks } from "../chunked-writes.ts";
import { advanceStage, type PipelineStage, type PipelineStageDeps } from "../pipeline-stage.ts";

/**
 * Says which appliance activates each device: the first reachable one of the device's activation group, else the one that
 * serves it; 0 where none can be reached. What is not ours ends at `queue`, in words. What others prepare as well is ours
 * where nobody else is known to sound it: whose turn it is, is decided at its moment. @source decisions.md 11
 */
export const partition: PipelineStage = {
  name: "partition",
  async run(notificationId, needs) {
    const { store, activations } = needs;
    const row = store.get(notifications, notificationId);
    if (!row) return;
    const lane = needs.laneOf(row.priorityLevel ?? 5);
    const targets = store.all<{ device: number }>(
      "SELECT device FROM notification_targets WHERE notification = ?",
      row.pk,
    );
    const devices = targets.map(({ device }) => device);
    const groups = store.all<{ cover: string }>(
      "SELECT cover FROM notification_failover_rings WHERE notification = ?",
      row.id,
    );
    if (groups.length > 0) {
      const ids = groups.map(({ cover }) => cover);
      const theirs = await activations.devicesWithin(devices, ids);
      return partitionFailoverRing(row.pk, notificationId, { devices, theirs }, needs);
    }
    const share = await activations.shareDevices(devices, row.heldUntil === null ? null : row.id);
    const { activatedElsewhere } = share;
    const finish = (tx: Transaction): void => {
      for (const cover of share.sharedGroupIds) {
        tx.run("INSERT OR IGNORE INTO notification_failover_groups (notification, cover) VALUES (?, ?)", row.id, cover);
      }
      for (const left of share.delegatedGroupIds) {
        tx.run("INSERT OR IGNORE INTO notification_standby_groups (notification, cover) VALUES (?, ?)", row.id, left);
      }
      advanceStage(tx, notificationId, "prepare");
    };
    let after = 0;
    const placeAsServed = (tx: Transaction, most: number): number => {
      const range = nextTargets(tx, row.pk, after, most);
      if (!range) return 0;
      tx.run(
        `UPDATE notification_targets SET endpoint = (SELECT d.endpoint_pk FROM devices d WHERE d.pk = device)
         WHERE notification = ? AND device > ? AND device <= ?`,
        row.pk,
        range.after,
        range.upTo,
      );
      after = range.upTo;
      return range.count;
    };
    // Where all is served as usual, one write stands before the sound; of a bell, neighbours are told at once.
    const isUsual = activatedElsewhere.length === 0;
    const safety = row.heldUntil === null ? "deferred" : "immediate";
    await writeInChunks(needs, lane, placeAsServed, isUsual ? finish : undefined, safety);
    let done = 0;
    const placeElsewhere = (tx: Transaction, most: number): number => {
      const piece = activatedElsewhere.slice(done, done + most);
      tx.run(
        `UPDATE notification_targets SET endpoint = x.value ->> 1 FROM json_each(?) x
         WHERE notification = ? AND device = x.value ->> 0`,
        JSON.stringify(piece),
        row.pk,
      );
      done += piece.length;
      return piece.length;
    };
    if (!isUsual) await writeInChunks(needs, lane, placeElsewhere, finish);
  },
};

/** What stands in for another appliance goes to that one's devices alone, from here. */
async function partitionFailoverRing(
  pk: number,
  id: string,
  { devices, theirs }: { devices: readonly number[]; theirs: readonly number[] },
  needs: PipelineStageDeps,
): Promise<void> {
  const ours = endpointPkOf(needs.store, needs.endpointId());
  const kept = new Set(theirs);
  let done = 0;
  const place = (tx: Transaction, most: number): number => {
    const piece = devices.slice(done, done + most);
    const keys = (isKept: boolean): string => JSON.stringify(piece.filter((device) => kept.has(device) === isKept));
    const among = "notification = ? AND device IN (SELECT value FROM json_each(?))";
    tx.run(`DELETE FROM notification_targets WHERE ${among}`, pk, keys(false));
    tx.run(`UPDATE notification_targets SET endpoint = ? WHERE ${among}`, ours, pk, keys(true));
    done += piece.length;
    return piece.length;
  };
  await writeInChunks(needs, "emergency", place, (tx) => advanceStage(tx, id, "prepare"));
}
