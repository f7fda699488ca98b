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

/** A second difference within this time asks for all rows. @source replication.md 3, digests */
const RESYNC_WINDOW_MS = 24 * 3600_000;

/** Rows that are counted before others have their turn. own choice: some ms */
const ROWS_PER_READ = 1_000;

/** What counting needs. */
export interface DigestCheckDeps {
  store: Pick<TransactionStore, "read">;
  clock: Pick<Clock, "after">;
  /** What is urgent is done now. */
  yieldToUrgent(): Promise<void>;
}

/** Reads the applied rows of a type in parts; they change in no other turn of the link than this one. */
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

/** Digests of a type's applied rows, part by part, counted anew: what was lost from the disk is missed. */
export async function computeLocalBuckets(
  needs: DigestCheckDeps,
  type: string,
): Promise<{ applied: number; buckets: Digest[] }> {
  const { applied } = await needs.store.read(readSyncState);
  let buckets = bucketDigests(type, []);
  for await (const rows of readAppliedRows(needs, type)) {
    const found = bucketDigests(type, rows);
    buckets = buckets.map((bucket, at) => sumDigests(bucket, found[at] ?? EMPTY_DIGEST));
  }
  return { applied, buckets };
}

/** Types in which this appliance differs from the cloud at the mark that was just applied. */
export async function findDifferingTypes(
  needs: DigestCheckDeps,
  types: readonly string[],
  theirs: Readonly<Record<string, Digest>>,
): Promise<string[]> {
  const different: string[] = [];
  for (const type of types) {
    let own = EMPTY_DIGEST;
    for await (const rows of readAppliedRows(needs, type)) {
      own = rows.reduce((sum, { id, seq }) => adjustDigest(sum, rowVersionHash(type, id, seq), 1), own);
    }
    const cloud = theirs[type] ?? EMPTY_DIGEST;
    if (own.count !== cloud.count || own.sum !== cloud.sum) different.push(type);
  }
  return different;
}

/** Notes that digests differed. True when it was so lately: then all rows are to come anew. */
export function* recordDigestMismatch(now: number): TransactionProgram<boolean> {
  const link = yield* readSyncState();
  const isAgain = link.mismatchAt !== null && now - link.mismatchAt < RESYNC_WINDOW_MS;
  // After a resync it begins with a repair again: rows that never fit must not come for ever.
  const noted = isAgain ? { mismatchAt: null, resyncRequested: 1 } : { mismatchAt: now };
  yield* putRecord(SYNC_STATE, { ...link, ...noted });
  return isAgain;
}
