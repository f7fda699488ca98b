import notifications from "../../resources/broadcasts/notifications.ts";
import type { Reader, Transaction } from "../../store/store.ts";
import { addActivity } from "../activities.ts";
import type { NotificationRow } from "../compose.ts";
import {
  insertDeviceDeliveries,
  insertGroupDeliveries,
  insertUserDeliveries,
  missedDevices,
  reopenDeviceDeliveries,
  reopenGroupDeliveries,
  reopenUnanswered,
  reopenUserDeliveries,
  troublesOfProviders,
} from "../planning.ts";
import { APPLIANCES } from "../providers.ts";
import { endpointKey } from "../recipients.ts";
import { type Lane, writeInSlices } from "../slices.ts";
import { advance, type Stage, type StageNeeds } from "../stage.ts";
import { nextTargets } from "../targets.ts";

/**
 * One ledger row per device: planned, or ended at once in words where nothing can be done. A target goes in the
 * transaction that makes its row, and a row is made once, so the stage may be repeated at any point. A message that is
 * sent again has its rows already: those of what it had not reached are opened once more.
 */
export const queue: Stage = {
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
      advance(tx, notificationId, "deliver");
    };
    if (isForDevicesAlone(row, store)) return queueDevices(row, needs, lane, finish);
    await queueDevices(row, needs, lane);
    if (row.collaborationGroupIds.length > 0) {
      await store.write(
        (tx) =>
          insertGroupDeliveries(tx, row, {
            ours: endpointKey(tx, needs.endpointId()),
            providers: needs.providers,
            now: needs.clock.now(),
          }),
        lane,
      );
    }
    if (row.retriedAt !== null) await reopenRows(row, row.retriedAt, needs, lane);
    const open = store.one("SELECT 1 FROM broadcast_open_recipients WHERE notification = ?", row.pk) !== null;
    if (!open && row.goesAgainTo !== "unanswered") await queueUserDevices(row, needs, lane);
    await store.write(finish, lane);
  },
};

/** What goes to phones and speakers, for the first time, and to nobody and nothing else. */
function isForDevicesAlone({ pk, retriedAt, collaborationGroupIds }: NotificationRow, reader: Reader): boolean {
  if (retriedAt !== null || collaborationGroupIds.length > 0) return false;
  return reader.one("SELECT 1 FROM notification_recipients WHERE notification_pk = ? LIMIT 1", pk) === null;
}

async function queueDevices(
  row: NotificationRow,
  needs: StageNeeds,
  lane: Lane,
  last?: (tx: Transaction) => void,
): Promise<void> {
  const ours = endpointKey(needs.store, needs.endpointId());
  const troubles = troublesOfProviders(needs.store, needs.providers, row);
  const carrier = carrierOf(needs);
  await writeInSlices(
    needs,
    lane,
    (tx, most) => {
      const range = nextTargets(tx, row.pk, 0, most);
      if (!range) return 0;
      insertDeviceDeliveries(tx, row, range, { ours, troubles, carrier, now: needs.clock.now() });
      tx.run("DELETE FROM broadcast_targets WHERE notification = ? AND device <= ?", row.pk, range.upTo);
      return range.count;
    },
    last,
  );
}

/** What carries messages to the appliances of a cloud. */
function carrierOf({ providers }: StageNeeds): string | null {
  return providers.state(APPLIANCES) === "running" ? APPLIANCES : null;
}

/** The rows of what a settled message had not reached, or of whom has not answered; the others stay as they are. */
async function reopenRows(row: NotificationRow, before: number, needs: StageNeeds, lane: Lane): Promise<void> {
  const { store, providers } = needs;
  if (row.goesAgainTo === "unanswered") {
    let after = 0;
    await writeInSlices(needs, lane, (tx, most) => {
      const looked = reopenUnanswered(tx, row, most, { providers, before, after });
      after = looked.last;
      return looked.n;
    });
    return;
  }
  const ours = endpointKey(store, needs.endpointId());
  const elsewhere = await needs.activations.elsewhere(missedDevices(store, row, before));
  const troubles = troublesOfProviders(store, providers, row);
  const given = { ours, troubles, providers, elsewhere, carrier: carrierOf(needs), before };
  await writeInSlices(needs, lane, (tx, most) => reopenDeviceDeliveries(tx, row, most, given));
  await writeInSlices(needs, lane, (tx, most) => reopenUserDeliveries(tx, row, most, given));
  await writeInSlices(needs, lane, (tx, most) => reopenGroupDeliveries(tx, row, most, given));
}

/** Makes the rows for the devices of a message's recipients. */
export async function queueUserDevices(row: NotificationRow, needs: StageNeeds, lane: Lane): Promise<void> {
  const ours = endpointKey(needs.store, needs.endpointId());
  let after = 0;
  await writeInSlices(needs, lane, (tx, most) => {
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
