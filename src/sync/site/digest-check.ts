import type { Clock } from "../../lib/clock.ts";
import type { Digest } from "../protocol/frames.ts";
import { adjustDigest, bucketDigests, EMPTY_DIGEST, rowVersionHash, sumDigests } from "../protocol/row-digests.ts";
import {
  putRecord,
  scanRecords,
  type TransactionProgram,
  type TransactionStore,
} from "../storage/transaction-program.ts";
import { readSyncState } from "./sync-state.ts";
import { APPLIED_VERSIONS, type AppliedVersion, SYNC_STATE } from "./tables.ts";

/** A second mismatch within this time requests a full resync. @source docs/decisions/0040-replication.md, Section 3 */
const RESYNC_WINDOW_MS = 24 * 3600_000;

/** @source docs/decisions/0300-sync-limits.md */
const ROWS_PER_READ = 1_000;

export interface DigestCheckDeps {
  store: Pick<TransactionStore, "read">;
  clock: Pick<Clock, "after">;
  /** Runs urgent tasks. */
  yieldToUrgent(): Promise<void>;
}

/** Reads the applied versions of a type in chunks; they do not change during this task of the sync queue. */
async function* readAppliedRows(
  { store, clock, yieldToUrgent }: DigestCheckDeps,
  type: string,
): AsyncGenerator<AppliedVersion[]> {
  for (let after = ""; ; await yieldToUrgent()) {
    const rows = await store.read(() => scanRecords(APPLIED_VERSIONS, { where: [type], after, limit: ROWS_PER_READ }));
    yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_PER_READ) return;
    after = last.id;
    await new Promise<void>((over) => clock.after(0, over, { background: true }));
  }
}

/** Bucket digests of a type's applied rows, recomputed: rows lost from the disk are detected. */
export async function computeLocalBuckets(
  deps: DigestCheckDeps,
  type: string,
): Promise<{ applied: number; buckets: Digest[] }> {
  const { applied } = await deps.store.read(readSyncState);
  let buckets = bucketDigests(type, []);
  for await (const rows of readAppliedRows(deps, type)) {
    const found = bucketDigests(type, rows);
    buckets = buckets.map((bucket, at) => sumDigests(bucket, found[at] ?? EMPTY_DIGEST));
  }
  return { applied, buckets };
}

/** Types whose digest differs from the cloud's at the checkpoint that was just applied. */
export async function findDifferingTypes(
  deps: DigestCheckDeps,
  types: readonly string[],
  theirs: Readonly<Record<string, Digest>>,
): Promise<string[]> {
  const different: string[] = [];
  for (const type of types) {
    let own = EMPTY_DIGEST;
    for await (const rows of readAppliedRows(deps, type)) {
      own = rows.reduce((sum, { id, seq }) => adjustDigest(sum, rowVersionHash(type, id, seq), 1), own);
    }
    const cloud = theirs[type] ?? EMPTY_DIGEST;
    if (own.count !== cloud.count || own.sum !== cloud.sum) different.push(type);
  }
  return different;
}

/** Records a mismatch. True if it is the second one lately: then a full resync is requested. */
export function* recordDigestMismatch(now: number): TransactionProgram<boolean> {
  const link = yield* readSyncState();
  const isAgain = link.mismatchAt !== null && now - link.mismatchAt < RESYNC_WINDOW_MS;
  // After a resync the cycle starts with a repair again: rows that never match must not cause endless resyncs.
  const noted = isAgain ? { mismatchAt: null, resyncRequested: 1 } : { mismatchAt: now };
  yield* putRecord(SYNC_STATE, { ...link, ...noted });
  return isAgain;
}
