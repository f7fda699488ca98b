import type { SyncWelcome, UpstreamFeed } from "../protocol/frames.ts";
import { deleteAllRecords, getRecord, putRecord, type TransactionProgram } from "../storage/transaction-program.ts";
import { invalidateArmedCommands } from "./command-inbox.ts";
import { startSnapshot } from "./downstream-feed.ts";
import { renumberEdits } from "./local-edits.ts";
import { matchesTail, renumberOutbox, requeueRecords } from "./outbox.ts";
import { type ActivityContext, recordActivity } from "./sync-activities.ts";
import { readSyncState } from "./sync-state.ts";
import { ACKED_POSITIONS, SYNC_STATE } from "./tables.ts";

const UPSTREAM_FEEDS: readonly UpstreamFeed[] = ["bulk", "hot"];

/**
 * Compares the cloud's position in this appliance's feeds with the own outbox.
 * - `restored`: this is an older copy (or a clone); a new incarnation has started and hello must be sent again.
 * - `gap`: the snapshot does not continue at the stored position.
 * - `more`: call again with the same frame; records are queued again batch by batch, which survives a restart.
 * Sequence numbers alone do not detect a restore, because a restored copy assigns them again to other records. Therefore the
 * uids of the last records are compared.
 * @source docs/decisions/0040-replication.md, Section 6, restore detection
 */
export function* handleWelcome(
  welcome: SyncWelcome,
  journal: ActivityContext,
): TransactionProgram<"live" | "restored" | "gap" | "more"> {
  const link = yield* readSyncState();
  let isSame = welcome.inc === link.incarnation;
  for (const lane of UPSTREAM_FEEDS) {
    const { hw, tail } = welcome.up[lane];
    isSame = isSame && (yield* matchesTail(link, lane, hw, tail));
  }
  if (!isSame) {
    yield* startIncarnation(Math.max(welcome.inc, link.incarnation), journal);
    return "restored";
  }
  // An older copy with the same last record is not detected; rows that the cloud has but this copy saw unacknowledged go again.
  if (welcome.up.bulk.hw > link.bulkAcked) {
    const bulkAcked = yield* requeueRecords("bulk", link.bulkAcked, welcome.up.bulk.hw);
    if (bulkAcked < welcome.up.bulk.hw) {
      yield* putRecord(SYNC_STATE, { ...(yield* readSyncState()), bulkAcked });
      return "more";
    }
  }
  const isNewEpoch = welcome.epoch !== link.epoch;
  yield* putRecord(SYNC_STATE, {
    ...(yield* readSyncState()),
    epoch: welcome.epoch,
    // Command numbers belong to an epoch: a restored cloud continues where its backup ended.
    commandHighWatermark: isNewEpoch ? 0 : link.commandHighWatermark,
    bulkAcked: welcome.up.bulk.hw,
    hotAcked: welcome.up.hot.hw,
    decided: Math.min(link.decided, welcome.up.hot.hw),
  });
  yield* recordActivity(journal, { type: "syncer-startup", state: "success", severity: "info", counts: { times: 1 } });
  if (!welcome.resync) return "live";
  return (yield* startSnapshot(welcome.resync, journal)) ? "live" : "gap";
}

/**
 * Prepares a restored backup before its first connection: armed commands may have been carried out since, and only
 * emergencies are kept. A copy that was restored without this is detected by `handleWelcome`, if anything had reached the
 * cloud.
 */
export function* adoptRestoredSite(journal: ActivityContext): TransactionProgram<void> {
  const link = yield* getRecord(SYNC_STATE, "link");
  if (!link) return;
  yield* invalidateArmedCommands(journal);
  // Whether the wall clock was set since the backup is unknown, too.
  yield* putRecord(SYNC_STATE, { ...(yield* readSyncState()), cloudTime: null, cloudTimeWallClock: null });
  yield* startIncarnation(link.incarnation, journal);
}

/**
 * Renumbers the outbox and schedules a full resend of site state: the cloud deletes what is not sent again. The incarnation
 * exceeds `known` by a random amount, because two copies of one image must not choose the same number.
 */
export function* startIncarnation(known: number, { newId }: Pick<ActivityContext, "newId">): TransactionProgram<void> {
  const inc = known + 1 + Number.parseInt(newId().slice(-6), 16);
  const bulk = yield* renumberOutbox("bulk");
  const hot = yield* renumberOutbox("hot");
  yield* renumberEdits(hot.numbers);
  yield* deleteAllRecords(ACKED_POSITIONS);
  yield* putRecord(SYNC_STATE, {
    ...(yield* readSyncState()),
    incarnation: inc,
    bulkSeq: bulk.numbers.size,
    bulkAcked: 0,
    hotSeq: hot.numbers.size,
    hotAcked: 0,
    decided: 0,
    stateResend: { type: "", after: null },
    outboxBytes: bulk.bytes + hot.bytes,
  });
}
