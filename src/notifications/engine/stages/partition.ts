import notifications from "../../../resources/notifications/notifications.ts";
import type { Transaction } from "../../../store/store.ts";
import { endpointPkOf } from "../../recipients/recipient-writer.ts";
import { nextTargets } from "../../recipients/target-ranges.ts";
import { writeInChunks } from "../chunked-writes.ts";
import { advanceStage, type PipelineStage, type PipelineStageDeps } from "../pipeline-stage.ts";

/**
 * Assigns an appliance to each device: the first reachable one of the device's activation group, else the one that
 * serves it; 0 where none is reachable. Devices of others end in `queue` with a reason. Devices that others prepare as
 * well are ours where no other appliance is known to play them; the duty is decided at the start time. @source
 * docs/decisions/0011-device-groups.md
 */
export const partition: PipelineStage = {
  name: "partition",
  async run(notificationId, deps) {
    const { store, activations } = deps;
    const row = store.get(notifications, notificationId);
    if (!row) return;
    const lane = deps.laneOf(row.priorityLevel ?? 5);
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
      const failoverDevices = await activations.devicesWithin(devices, ids);
      return partitionFailoverRing(row.pk, notificationId, { devices, theirs: failoverDevices }, deps);
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
    const placeAsServed = (tx: Transaction, limit: number): number => {
      const range = nextTargets(tx, row.pk, after, limit);
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
    // In the normal case one write precedes the audio; for a bell, neighbours are informed at once.
    const isUsual = activatedElsewhere.length === 0;
    const safety = row.heldUntil === null ? "deferred" : "immediate";
    await writeInChunks(deps, lane, placeAsServed, isUsual ? finish : undefined, safety);
    let done = 0;
    const placeElsewhere = (tx: Transaction, limit: number): number => {
      const piece = activatedElsewhere.slice(done, done + limit);
      tx.run(
        `UPDATE notification_targets SET endpoint = x.value ->> 1 FROM json_each(?) x
         WHERE notification = ? AND device = x.value ->> 0`,
        JSON.stringify(piece),
        row.pk,
      );
      done += piece.length;
      return piece.length;
    };
    if (!isUsual) await writeInChunks(deps, lane, placeElsewhere, finish);
  },
};

/** A failover ring goes only to the devices of the appliance it stands in for, from here. */
async function partitionFailoverRing(
  pk: number,
  id: string,
  { devices, theirs: failoverDevices }: { devices: readonly number[]; theirs: readonly number[] },
  deps: PipelineStageDeps,
): Promise<void> {
  const ours = endpointPkOf(deps.store, deps.endpointId());
  const kept = new Set(failoverDevices);
  let done = 0;
  const place = (tx: Transaction, limit: number): number => {
    const piece = devices.slice(done, done + limit);
    const keys = (isKept: boolean): string => JSON.stringify(piece.filter((device) => kept.has(device) === isKept));
    const among = "notification = ? AND device IN (SELECT value FROM json_each(?))";
    tx.run(`DELETE FROM notification_targets WHERE ${among}`, pk, keys(false));
    tx.run(`UPDATE notification_targets SET endpoint = ? WHERE ${among}`, ours, pk, keys(true));
    done += piece.length;
    return piece.length;
  };
  await writeInChunks(deps, "emergency", place, (tx) => advanceStage(tx, id, "prepare"));
}
