import type { Digest, DownstreamRow } from "../protocol/frames.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { bucketDigests, bucketIndex, differingBuckets, EMPTY_DIGEST, sumDigests } from "../protocol/row-digests.ts";
import { scanRecords, type TransactionProgram, type TransactionStore } from "../storage/transaction-program.ts";
import { type FeedCursor, requireCurrentLink } from "./downstream-feed.ts";
import { readFeedHead } from "./publish.ts";
import { readSentRows } from "./row-scopes.ts";
import { FEED_RECORDS, type FeedRecord } from "./tables.ts";

/** Bucket digests of a type, as an appliance reports them. */
interface DigestReport {
  applied: number;
  type: string;
  buckets: readonly Digest[];
}

export interface RepairDeps {
  store: Pick<TransactionStore, "read">;
  types: ReplicatedTypes;
  /** Lets urgent tasks run. */
  yieldToUrgent(): Promise<void>;
}

/** @source docs/decisions/0300-sync-limits.md */
const ROWS_PER_READ = 200;

/**
 * Rows of the buckets in which an appliance differs; null if it is not at the head, or no longer is when all are read.
 * Throws CallerError if the connection was replaced by a newer one.
 */
export async function findDifferingRows(
  { store, types, yieldToUrgent }: RepairDeps,
  cursor: FeedCursor,
  asked: DigestReport,
): Promise<{ buckets: number[]; rows: DownstreamRow[] } | null> {
  let ours = bucketDigests(asked.type, []);
  const parts = ours.map((): DownstreamRow[] => []);
  for (let after = ""; ; await yieldToUrgent()) {
    const from = after;
    const read = await store.read(() => liveRows(cursor, asked, from, types));
    if (!read) return null;
    const found = bucketDigests(asked.type, read.rows);
    ours = ours.map((part, at) => sumDigests(part, found[at] ?? EMPTY_DIGEST));
    for (const { type, id, seq, body } of read.rows) parts[bucketIndex(id)]?.push(["p", type, id, seq, body ?? {}]);
    if (read.last === null) break;
    after = read.last;
  }
  const buckets = differingBuckets(ours, asked.buckets);
  return { buckets, rows: buckets.flatMap((part) => parts[part] ?? []) };
}

/** Live rows in the scope of an appliance, after an id; `last` is where to continue, null at the end. */
function* liveRows(
  cursor: FeedCursor,
  { applied, type }: DigestReport,
  after: string,
  types: ReplicatedTypes,
): TransactionProgram<{ rows: FeedRecord[]; last: string | null } | null> {
  const { seq } = yield* readFeedHead();
  if (applied !== seq || cursor.sentTo !== seq) return null;
  const link = yield* requireCurrentLink(cursor);
  const found = yield* scanRecords(FEED_RECORDS, { by: "live", where: [type, 0], after, limit: ROWS_PER_READ });
  const last = found.length < ROWS_PER_READ ? null : (found.at(-1)?.id ?? null);
  return { rows: yield* readSentRows(link, found, types), last };
}
