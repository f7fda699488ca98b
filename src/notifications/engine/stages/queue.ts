import notifications from "../../../resources/notifications/notifications.ts";
import type { StoreReader, Transaction } from "../../../store/store.ts";
import type { NotificationRow } from "../../compose/message-builder.ts";
import { endpointPkOf } from "../../recipients/recipient-writer.ts";
import { nextTargets } from "../../recipients/target-ranges.ts";
import { addActivity } from "../activity-log.ts";
import { type WriteLane, writeInChunks } from "../chunked-writes.ts";
import {
  findProviderProblems,
  findUnheardDevices,
  insertDeviceDeliveries,
  insertGroupDeliveries,
  insertUserDeliveries,
  remoteProviderOf,
  reopenDeviceDeliveries,
  reopenGroupDeliveries,
  reopenMissedAudioDeliveries,
  reopenUnansweredDeliveries,
  reopenUserDeliveries,
} from "../delivery-planner.ts";
import { filterDeliveries, isFiltered } from "../device-filters.ts";
import { advanceStage, type PipelineStage, type PipelineStageDeps } from "../pipeline-stage.ts";

/**
 * Creates one ledger row per device: planned, or ended at once with a reason where nothing can be done. A target is
 * deleted in the transaction that creates its row, and a row is created once, so the stage may be repeated at any
 * point. Filters leave out some of the planned ones. A message that is sent again has its rows already: those not reached are reopened.
 */
export const queue: PipelineStage = {
  name: "queue",
  async run(notificationId, deps) {
    const { store } = deps;
    const row = store.get(notifications, notificationId);
    if (!row) return;
    const lane = deps.laneOf(row.priorityLevel ?? 5);
    const finish = (tx: Transaction): void => {
      const deliveries = tx.one<{ n: number }>(
        "SELECT count(*) AS n FROM deliveries WHERE notification_pk = ? AND (? IS NULL OR ended_at IS NULL)",
        row.pk,
        row.retriedAt,
      );
      const details = { devices: deliveries?.n ?? 0 };
      addActivity(tx, { notificationId, type: "sending-started", endpointId: deps.endpointId(), details }, deps.by);
      advanceStage(tx, notificationId, "deliver");
    };
    if (!isFiltered(row, deps) && targetsDevicesOnly(row, store)) return queueDevices(row, deps, lane, finish);
    await queueDevices(row, deps, lane);
    if (row.collaborationGroupIds.length > 0) {
      await store.write(
        (tx) =>
          insertGroupDeliveries(tx, row, {
            ours: endpointPkOf(tx, deps.endpointId()),
            providers: deps.providers,
            now: deps.clock.now(),
          }),
        lane,
      );
    }
    if (row.retriedAt !== null) await reopenRows(row, row.retriedAt, deps, lane);
    const open = store.one("SELECT 1 FROM notification_pending_recipients WHERE notification = ?", row.pk) !== null;
    if (!open && (row.goesAgainTo === null || row.goesAgainTo === "missed")) await queueUserDevices(row, deps, lane);
    await filterDeliveries(row, deps, lane);
    await store.write(finish, lane);
  },
};

/** True for the first attempt of a message to phones and speakers only. */
function targetsDevicesOnly({ pk, retriedAt, collaborationGroupIds }: NotificationRow, reader: StoreReader): boolean {
  if (retriedAt !== null || collaborationGroupIds.length > 0) return false;
  return reader.one("SELECT 1 FROM notification_recipients WHERE notification_pk = ? LIMIT 1", pk) === null;
}

async function queueDevices(
  row: NotificationRow,
  deps: PipelineStageDeps,
  lane: WriteLane,
  last?: (tx: Transaction) => void,
): Promise<void> {
  const ours = endpointPkOf(deps.store, deps.endpointId());
  const troubles = findProviderProblems(deps.store, deps.providers, row);
  const carrier = remoteProviderOf(deps);
  await writeInChunks(
    deps,
    lane,
    (tx, most) => {
      const range = nextTargets(tx, row.pk, 0, most);
      if (!range) return 0;
      insertDeviceDeliveries(tx, row, range, { ours, troubles, carrier, now: deps.clock.now() });
      tx.run("DELETE FROM notification_targets WHERE notification = ? AND device <= ?", row.pk, range.upTo);
      return range.count;
    },
    last,
  );
}

/**
 * Reopens the rows that a settled message had not reached, or reached without its audio, or those of recipients who have
 * not answered; the others stay.
 */
async function reopenRows(
  row: NotificationRow,
  before: number,
  deps: PipelineStageDeps,
  lane: WriteLane,
): Promise<void> {
  const { store, providers } = deps;
  if (row.goesAgainTo === "unanswered") {
    let after = 0;
    await writeInChunks(deps, lane, (tx, most) => {
      const looked = reopenUnansweredDeliveries(tx, row, most, { providers, before, after });
      after = looked.last;
      return looked.n;
    });
    return;
  }
  const ours = endpointPkOf(store, deps.endpointId());
  const elsewhere = await deps.activations.activatedElsewhere(findUnheardDevices(store, row, before));
  const troubles = findProviderProblems(store, providers, row);
  const given = { ours, troubles, providers, elsewhere, carrier: remoteProviderOf(deps), before };
  await writeInChunks(deps, lane, (tx, most) => reopenDeviceDeliveries(tx, row, most, given));
  await writeInChunks(deps, lane, (tx, most) => reopenMissedAudioDeliveries(tx, row, most, given));
  if (row.goesAgainTo === "unheard") return;
  await writeInChunks(deps, lane, (tx, most) => reopenUserDeliveries(tx, row, most, given));
  await writeInChunks(deps, lane, (tx, most) => reopenGroupDeliveries(tx, row, most, given));
}

/** Creates the rows for the devices of a message's recipients. */
export async function queueUserDevices(row: NotificationRow, deps: PipelineStageDeps, lane: WriteLane): Promise<void> {
  const ours = endpointPkOf(deps.store, deps.endpointId());
  let after = 0;
  await writeInChunks(deps, lane, (tx, most) => {
    const page = tx.one<{ last: number | null; n: number }>(
      `SELECT max(user_pk) AS last, count(*) AS n FROM (SELECT user_pk FROM notification_recipients
         WHERE notification_pk = ? AND user_pk > ? ORDER BY user_pk LIMIT ?)`,
      row.pk,
      after,
      most,
    );
    if (!page || page.last === null) return 0;
    const range = { after, upTo: page.last, count: page.n };
    insertUserDeliveries(tx, row, range, { ours, providers: deps.providers, now: deps.clock.now() });
    after = page.last;
    return page.n;
  });
}
