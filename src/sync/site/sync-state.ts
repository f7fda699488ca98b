import { BugError } from "../../lib/errors.ts";
import type { Credit, SyncHello } from "../protocol/frames.ts";
import { getRecord, putRecord, type TransactionProgram } from "../storage/transaction-program.ts";
import type { SavedCloudTime } from "./cloud-time.ts";
import { SYNC_STATE, type SyncState } from "./tables.ts";

/** The sync state. Throws BugError before `initializeSyncState`. */
export function* readSyncState(): TransactionProgram<SyncState> {
  const link = yield* getRecord(SYNC_STATE, "link");
  if (!link) throw new BugError("sync state not initialized");
  return link;
}

/**
 * Creates the sync state of a new link. A version that knows other resources than the one before requests a full resync,
 * because that one ignored rows of unknown resources.
 */
export function* initializeSyncState(endpoint: string, types: string): TransactionProgram<SyncState> {
  const found = yield* getRecord(SYNC_STATE, "link");
  if (found && found.typesFingerprint === types) return found;
  const link = found ? { ...found, typesFingerprint: types, resyncRequested: 1 } : newSyncState(endpoint, types);
  yield* putRecord(SYNC_STATE, link);
  return link;
}

/**
 * The saved cloud time for a new process. It is deleted if the wall clock is before the saved one: once that clock is
 * corrected, too little time would seem to have passed.
 */
export function* readSavedCloudTime(now: number): TransactionProgram<SavedCloudTime | null> {
  const link = yield* readSyncState();
  const { cloudTime, cloudTimeWallClock } = link;
  if (cloudTime === null || cloudTimeWallClock === null) return null;
  if (now >= cloudTimeWallClock) return { cloudTimeMs: cloudTime, wallClockMs: cloudTimeWallClock };
  yield* putRecord(SYNC_STATE, { ...link, cloudTime: null, cloudTimeWallClock: null });
  return null;
}

function newSyncState(endpoint: string, typesFingerprint: string): SyncState {
  const feeds = { bulkSeq: 0, bulkAcked: 0, hotSeq: 0, hotAcked: 0, decided: 0, outboxBytes: 0 };
  const snap = { snapshotHead: null, snapshotAfter: null, snapshotEnded: 0, snapshotGeneration: 1, resyncRequested: 0 };
  const down = { epoch: null, received: 0, applied: 0, applyingCheckpoint: null, commandHighWatermark: 0 };
  const time = { cloudTime: null, cloudTimeWallClock: null, mismatchAt: null };
  const own = { tallies: {}, stateResend: null };
  return { id: "link", endpoint, incarnation: 1, typesFingerprint, ...down, ...feeds, ...snap, ...time, ...own };
}

export function* buildHello(types: readonly string[], credit: Credit): TransactionProgram<SyncHello> {
  const link = yield* readSyncState();
  const isInSnapshot = link.snapshotHead !== null && link.snapshotEnded === 0;
  return {
    t: "hello",
    v: 1,
    endpoint: link.endpoint,
    inc: link.incarnation,
    oseq: { bulk: link.bulkSeq, hot: link.hotSeq },
    epoch: link.epoch,
    recv: link.received,
    applied: link.applied,
    snap: isInSnapshot ? { h0: link.snapshotHead as number, after: link.snapshotAfter } : null,
    cmdHw: link.commandHighWatermark,
    decided: link.decided,
    fresh: link.resyncRequested === 1,
    types,
    credit,
  };
}
