import notifications from "../../../resources/notifications/notifications.ts";
import type { Transaction } from "../../../store/store.ts";
import type { NotificationRow } from "../../compose/message-builder.ts";
import { parseSendingProfile } from "../../compose/sending-profile.ts";
import { resolveTargetDevices } from "../../recipients/individual-devices.ts";
import { hasAtMostUsers, writeRecipients } from "../../recipients/recipient-writer.ts";
import { type WriteLane, writeInChunks } from "../chunked-writes.ts";
import { advanceStage, type PipelineStage, type PipelineStageDeps } from "../pipeline-stage.ts";

/** So many places on lists are written in some 30 ms; beyond, users are written while the devices are being called. own choice */
const MAX_INLINE_USERS = 2_000;

/**
 * Finds out who and what is reached: first the distinct devices of all groups, then the distinct users of all lists.
 * A message to very many users marks them as open instead; `finishRecipients` writes them while the devices ring.
 */
export const resolve: PipelineStage = {
  name: "resolve",
  async run(notificationId, needs) {
    const row = needs.store.get(notifications, notificationId);
    if (!row) return;
    const lane = needs.laneOf(row.priorityLevel ?? 5);
    const few = hasAtMostUsers(needs.store, row.pk, MAX_INLINE_USERS);
    const finish = (tx: Transaction): void => {
      if (!few) tx.run("INSERT OR IGNORE INTO notification_pending_recipients (notification) VALUES (?)", row.pk);
      advanceStage(tx, notificationId, "partition");
    };
    const writesUsers = few && !hasAtMostUsers(needs.store, row.pk, 0);
    await writeTargets(row, needs, lane, writesUsers ? undefined : finish);
    if (writesUsers) await writeRecipients(row, needs, lane, finish);
  },
};

async function writeTargets(
  row: NotificationRow,
  needs: PipelineStageDeps,
  lane: WriteLane,
  last?: (tx: Transaction) => void,
): Promise<void> {
  const devices = parseSendingProfile(row).reachesDevices ? await resolveTargetDevices(row, needs) : [];
  let done = 0;
  await writeInChunks(
    needs,
    lane,
    (tx, most) => {
      const piece = devices.slice(done, done + most);
      tx.run(
        "INSERT OR IGNORE INTO notification_targets (notification, device) SELECT ?, value FROM json_each(?)",
        row.pk,
        JSON.stringify(piece),
      );
      done += piece.length;
      return piece.length;
    },
    last,
    // A cut makes them again: what others hear of follows in `queue`, which waits for the disk.
    "deferred",
  );
}
