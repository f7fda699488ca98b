import notifications from "../../../resources/notifications/notifications.ts";
import type { Transaction } from "../../../store/store.ts";
import type { NotificationRow } from "../../compose/message-builder.ts";
import { parseSendingProfile } from "../../compose/sending-profile.ts";
import { resolveTargetDevices } from "../../recipients/individual-devices.ts";
import { hasAtMostUsers, writeRecipients } from "../../recipients/recipient-writer.ts";
import { type WriteLane, writeInChunks } from "../chunked-writes.ts";
import { advanceStage, type PipelineStage, type PipelineStageDeps } from "../pipeline-stage.ts";

/** Subscriptions written in some 30 ms; with more, users are written while the devices are being asked. */
const MAX_INLINE_USERS = 2_000;

/**
 * Resolves the recipients: first the distinct devices of all groups, then the distinct users of all lists. With very
 * many users they are marked as pending; `writePendingRecipients` writes them while the devices ring.
 */
export const resolve: PipelineStage = {
  name: "resolve",
  async run(notificationId, deps) {
    const row = deps.store.get(notifications, notificationId);
    if (!row) return;
    const lane = deps.laneOf(row.priorityLevel ?? 5);
    const few = hasAtMostUsers(deps.store, row.pk, MAX_INLINE_USERS);
    const finish = (tx: Transaction): void => {
      if (!few) tx.run("INSERT OR IGNORE INTO notification_pending_recipients (notification) VALUES (?)", row.pk);
      advanceStage(tx, notificationId, "partition");
    };
    const writesUsers = few && !hasAtMostUsers(deps.store, row.pk, 0);
    await writeTargets(row, deps, lane, writesUsers ? undefined : finish);
    if (writesUsers) await writeRecipients(row, deps, lane, finish);
  },
};

async function writeTargets(
  row: NotificationRow,
  deps: PipelineStageDeps,
  lane: WriteLane,
  last?: (tx: Transaction) => void,
): Promise<void> {
  const devices = parseSendingProfile(row).reachesDevices ? await resolveTargetDevices(row, deps) : [];
  let done = 0;
  await writeInChunks(
    deps,
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
    // Lost in a power cut they are resolved again; what is replicated follows in `queue`, which is durable.
    "deferred",
  );
}
