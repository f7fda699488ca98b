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
 * Compares what the cloud has of this appliance with what it has itself. `restored`: this is an older copy (or a clone),
 * which has begun a new incarnation and must say hello again. `gap`: the snapshot does not follow on. `more`: ask again with
 * the same, as many records are sent once more, a slice at a time; whoever ends between two of them goes on at the next
 * welcome. Counters alone would not do: after a restore a number is used again for another record, so the names of the last
 * ones are compared.
 * @source replication.md 6, restore detection
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
  // An older copy with the same last record is not told apart; all of its rows arrived that were acknowledged to it.
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
    // Numbers of commands belong to an epoch: those of a restored cloud begin where its copy ended.
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
 * Tells a restored copy what it is, before its first connection: what it stands ready to do may have been done since, and
 * only emergencies are done again. A copy that nobody tells finds out by `acceptWelcome`, if anything reached the cloud.
 */
export function* adoptRestoredSite(journal: ActivityContext): TransactionProgram<void> {
  const link = yield* getRecord(SYNC_STATE, "link");
  if (!link) return;
  yield* invalidateArmedCommands(journal);
  // Whether the clock was set since the copy was made, it can't tell either.
  yield* putRecord(SYNC_STATE, { ...(yield* readSyncState()), cloudTime: null, cloudTimeWallClock: null });
  yield* startIncarnation(link.incarnation, journal);
}

/**
 * Numbers all that is kept anew, and tells own state as a whole: what is not told again is gone. The incarnation is above
 * `known` by chance: two copies of one image number what they share the same way, and must not take each other's number.
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
