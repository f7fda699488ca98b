import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { createInventory, fieldHashes, type InventoryRow, type RowInventory } from "../protocol/content-digests.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { bucketIndex, EMPTY_DIGEST, sumDigests } from "../protocol/row-digests.ts";
import {
  getRecord,
  scanRecords,
  type TransactionProgram,
  type TransactionStore,
} from "../storage/transaction-program.ts";
import { isInScope, readSentRows } from "./row-scopes.ts";
import { FEED_RECORDS, type FeedRecord, LINK_RECORDS, type LinkRecord, SCOPE_DIGESTS } from "./tables.ts";

export interface InventoryDeps {
  store: Pick<TransactionStore, "read">;
  clock: Pick<Clock, "defer">;
  types: ReplicatedTypes;
}

/** What an appliance asks for: the rows of a type, compared by these fields. */
export interface InventoryQuestion {
  type: string;
  fields: readonly string[];
}

/** Rows that are hashed in one turn of the event loop. @source docs/decisions/0651-proof-of-the-initial-sync.md */
const ROWS_PER_READ = 40;
/** Rows of a bucket that are listed. */
const MAX_LISTED_ROWS = 2_000;

/** Digests of the rows of a type that an appliance is sent. Rows are read in parts, so that nothing else waits. */
export async function readRowInventory(
  deps: InventoryDeps,
  endpoint: string,
  asked: InventoryQuestion,
): Promise<RowInventory> {
  const inventory = createInventory(asked.type);
  for await (const { id, seq, body } of liveRows(deps, endpoint, asked.type))
    inventory.add(id, seq, fieldHashes(body, asked.fields, deps.types.idListFields(asked.type)));
  return inventory.result();
}

/** The rows of one bucket, with hashes of their fields. */
export async function listBucketRows(
  deps: InventoryDeps,
  endpoint: string,
  { type, fields, bucket }: InventoryQuestion & { bucket: number },
): Promise<InventoryRow[]> {
  const rows: InventoryRow[] = [];
  for await (const { id, seq, body } of liveRows(deps, endpoint, type)) {
    if (bucketIndex(id) !== bucket || rows.length >= MAX_LISTED_ROWS) continue;
    rows.push([id, seq, fieldHashes(body, fields, deps.types.idListFields(type))]);
  }
  return rows;
}

async function* liveRows(
  { store, clock, types }: InventoryDeps,
  endpoint: string,
  type: string,
): AsyncGenerator<FeedRecord> {
  for (let after = ""; ; await yieldToEventLoop(clock)) {
    const from = after;
    const { rows, last } = await store.read(() => readLiveRows(endpoint, type, from, types));
    yield* rows;
    if (last === null) return;
    after = last;
  }
}

function* readLiveRows(
  endpoint: string,
  type: string,
  after: string,
  types: ReplicatedTypes,
): TransactionProgram<{ rows: FeedRecord[]; last: string | null }> {
  const link = yield* getRecord(LINK_RECORDS, endpoint);
  const found = yield* scanRecords(FEED_RECORDS, { by: "live", where: [type, 0], after, limit: ROWS_PER_READ });
  const last = found.length < ROWS_PER_READ ? null : (found.at(-1)?.id ?? null);
  return { rows: link ? yield* readSentRows(link, found, types) : [], last };
}

/** Rows that an appliance is sent, by type, as they are kept with each write. */
export function* readRowCounts(
  types: ReplicatedTypes,
  link: Pick<LinkRecord, "scopes">,
): TransactionProgram<Record<string, { count: number; sum: number }>> {
  const counts: Record<string, { count: number; sum: number }> = {};
  for (const type of types.cloudOwned) {
    for (const { scope, count, sum } of yield* scanRecords(SCOPE_DIGESTS, { where: [type] }))
      if (isInScope(link, scope || null)) counts[type] = sumDigests(counts[type] ?? EMPTY_DIGEST, { count, sum });
  }
  return counts;
}
