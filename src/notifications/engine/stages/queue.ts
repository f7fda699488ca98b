import notifications from "../../../resources/notifications/notifications.ts";
import type { StoreReader, Transaction } from "../../../store/store.ts";
import type { NotificationRow } from "../../compose/message-builder.ts";
import { endpointPkOf } from "../../recipients/recipient-writer.ts";
import { nextTargets } from "../../recipients/target-ranges.ts";
import { addActivity } from "../activity-log.ts";
import { type WriteLane, writeInChunks } from "../chunked-writes.ts";
import {
  findProviderProblems,
  findUnreachedDevices,
  insertDeviceDeliveries,
  insertGroupDeliveries,
  insertUserDeliveries,
  reopenDeviceDeliveries,
  reopenGroupDeliveries,
  reopenUnansweredDeliveries,
  reopenUserDeliveries,
} from "../delivery-planner.ts";
import { APPLIANCES_PROVIDER } from "../delivery-providers.ts";
import { advanceStage, type PipelineStage, type PipelineStageDeps } from "../pipeline-stage.ts";

/**
 * One ledger row per device: planned, or ended at once in words where nothing can be done. A target goes in the
 * transaction that makes its row, and a row is made once, so the stage may be repeated at any point. A message that is
 * sent again has its rows already: those of what it had not reached are opened once more.
 */
export const queue: PipelineStage = {
  name: "queue",
  async run(notificationId, needs) {
    const { store } = needs;
    const row = store.get(notifications, notificationId);
    if (!row) return;
    const lane = needs.laneOf(row.priorityLevel ?? 5);
    const finish = (tx: Transaction): void => {
      const deliveries = tx.one<{ n: number }>(
        "SELECT count(*) AS n FROM deliveries WHERE notification_pk = ? AND (? IS NULL OR ended_at IS NULL)",
        row.pk,
        row.retriedAt,
      );
      const details = { devices: deliveries?.n ?? 0 };
      addActivity(tx, { notificationId, type: "sending-started", endpointId: needs.endpointId(), details }, needs.by);
      advanceStage(tx, notificationId, "deliver");
    };
    if (targetsDevicesOnly(row, store)) return queueDevices(row, needs, lane, finish);
    await queueDevices(row, needs, lane);
    if (row.collaborationGroupIds.length > 0) {
      await store.write(
        (tx) =>
          insertGroupDeliveries(tx, row, {
            ours: endpointPkOf(tx, needs.endpointId()),
            providers: needs.providers,
            now: needs.clock.now(),
          }),
        lane,
      );
    }
    if (row.retriedAt !== null) await reopenRows(row, row.retriedAt, needs, lane);
    const open = store.one("SELECT 1 FROM notification_pending_recipients WHERE notification = ?", row.pk) !== null;
    if (!open && row.goesAgainTo !== "unanswered") await queueUserDevices(row, needs, lane);
    await store.write(finish, lane);
  },
};

/** What goes to phones and speakers, for the first time, and to nobody and nothing else. */
function targetsDevicesOnly({ pk, retriedAt, collaborationGroupIds }: NotificationRow, reader: StoreReader): boolean {
  if (retriedAt !== null || collaborationGroupIds.length > 0) return false;
  return reader.one("SELECT 1 FROM notification_recipients WHERE notification_pk = ? LIMIT 1", pk) === null;
}

async function queueDevices(
  row: NotificationRow,
  needs: PipelineStageDeps,
  lane: WriteLane,
  last?: (tx: Transaction) => void,
): Promise<void> {
  const ours = endpointPkOf(needs.store, needs.endpointId());
  const troubles = findProviderProblems(needs.store, needs.providers, row);
  const carrier = remoteProviderOf(needs);
  await writeInChunks(
    needs,
    lane,
    (tx, most) => {
      const range = nextTargets(tx, row.pk, 0, most);
      if (!range) return 0;
      insertDeviceDeliveries(tx, row, range, { ours, troubles, carrier, now: needs.clock.now() });
      tx.run("DELETE FROM notification_targets WHERE notification = ? AND device <= ?", row.pk, range.upTo);
      return range.count;
    },
    last,
  );
}

/** What carries messages to the appliances of a cloud. */
function remoteProviderOf({ providers }: PipelineStageDeps): string | null {
  return providers.state(APPLIANCES_PROVIDER) === "running" ? APPLIANCES_PROVIDER : null;
}

/** The rows of what a settled message had not reached, or of whom has not answered; the others stay as they are. */
async function reopenRows(
  row: NotificationRow,
  before: number,
  needs: PipelineStageDeps,
  lane: WriteLane,
): Promise<void> {
  const { store, providers } = needs;
  if (row.goesAgainTo === "unanswered") {
    let after = 0;
    await writeInChunks(needs, lane, (tx, most) => {
      const looked = reopenUnansweredDeliveries(tx, row, most, { providers, before, after });
      after = looked.last;
      return looked.n;
    });
    return;
  }
  const ours = endpointPkOf(store, needs.endpointId());
  const elsewhere = await needs.activations.activatedElsewhere(findUnreachedDevices(store, row, before));
  const troubles = findProviderProblems(store, providers, row);
  const given = { ours, troubles, providers, elsewhere, carrier: remoteProviderOf(needs), before };
  await writeInChunks(needs, lane, (tx, most) => reopenDeviceDeliveries(tx, row, most, given));
  await writeInChunks(needs, lane, (tx, most) => reopenUserDeliveries(tx, row, most, given));
  await writeInChunks(needs, lane, (tx, most) => reopenGroupDeliveries(tx, row, most, given));
}

/** Makes the rows for the devices of a message's recipients. */
export async function queueUserDevices(row: NotificationRow, needs: PipelineStageDeps, lane: WriteLane): Promise<void> {
  const ours = endpointPkOf(needs.store, needs.endpointId());
  let after = 0;
  await writeInChunks(needs, lane, (tx, most) => {
    const page = tx.one<{ last: number | null; n: number }>(
      `SELECT max(user_pk) AS last, count(*) AS n FROM (SELECT user_pk FROM notification_recipients
         WHERE notification_pk = ? AND user_pk > ? ORDER BY user_pk LIMIT ?)`,
      row.pk,
      after,
      most,
    );
    if (!page || page.last === null) return 0;
    const range = { after, upTo: page.last, count: page.n };
    insertUserDeliveries(tx, row, range, { ours, providers: needs.providers, now: needs.clock.now() });
    after = page.last;
    return page.n;
  });
}
