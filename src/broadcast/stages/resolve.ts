import notifications from "../../resources/broadcasts/notifications.ts";
import type { Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose.ts";
import { hasFewUsers, writeRecipients } from "../recipients.ts";
import { sendingProfileOf } from "../sending-profile.ts";
import { devicesMeant } from "../single-devices.ts";
import { type Lane, writeInSlices } from "../slices.ts";
import { advance, type Stage, type StageNeeds } from "../stage.ts";

/** So many places on lists are written in some 30 ms; beyond, users are written while the devices are being called. own choice */
const FEW_USERS = 2_000;

/**
 * Finds out who and what is reached: first the distinct devices of all groups, then the distinct users of all lists.
 * A message to very many users marks them as open instead; `finishRecipients` writes them while the devices ring.
 */
export const resolve: Stage = {
  name: "resolve",
  async run(notificationId, needs) {
    const row = needs.store.get(notifications, notificationId);
    if (!row) return;
    const lane = needs.laneOf(row.priorityLevel ?? 5);
    const few = hasFewUsers(needs.store, row.pk, FEW_USERS);
    const finish = (tx: Transaction): void => {
      if (!few) tx.run("INSERT OR IGNORE INTO broadcast_open_recipients (notification) VALUES (?)", row.pk);
      advance(tx, notificationId, "partition");
    };
    const writesUsers = few && !hasFewUsers(needs.store, row.pk, 0);
    await writeTargets(row, needs, lane, writesUsers ? undefined : finish);
    if (writesUsers) await writeRecipients(row, needs, lane, finish);
  },
};

async function writeTargets(
  row: NotificationRow,
  needs: StageNeeds,
  lane: Lane,
  last?: (tx: Transaction) => void,
): Promise<void> {
  const devices = sendingProfileOf(row).reachesDevices ? await devicesMeant(row, needs) : [];
  let done = 0;
  await writeInSlices(
    needs,
    lane,
    (tx, most) => {
      const piece = devices.slice(done, done + most);
      tx.run(
        "INSERT OR IGNORE INTO broadcast_targets (notification, device) SELECT ?, value FROM json_each(?)",
        row.pk,
        JSON.stringify(piece),
      );
      done += piece.length;
      return piece.length;
    },
    last,
    // A cut makes them again: what others hear of follows in `queue`, which waits for the disk.
    "with-next",
  );
}
