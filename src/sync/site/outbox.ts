import {
  FULL_STATE_SENT,
  type SyncLimits,
  type UpstreamFeed,
  type UpstreamPage,
  type UpstreamRow,
} from "../protocol/frames.ts";
import {
  deleteRecord,
  getRecord,
  putRecord,
  type RowBody,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";
import { activityCountKey } from "./sync-activity-types.ts";
import { readSyncState } from "./sync-state.ts";
import { ACKED_POSITIONS, OUTBOX, type OutboxRecord, SYNC_STATE, type SyncState } from "./tables.ts";

/** A record to send. */
export interface OutboxEntry {
  uid: string;
  op: "p" | "d";
  type: string;
  id: string;
  body: RowBody | null;
  at: number;
  /** Older unsent versions of the row may be dropped. */
  newestOnly?: boolean;
}

/**
 * Records are kept this long after acknowledgement, for a restored cloud.
 * @source docs/decisions/0040-replication.md, Section 3
 */
const RETENTION_DAYS = 30;
const DAY_MS = 24 * 3600_000;
/** @source docs/decisions/0300-sync-limits.md */
export const MAX_OUTBOX_BYTES = 256e6;

/** Appends a record to a feed; returns its sequence number. */
export function* enqueue(lane: UpstreamFeed, record: OutboxEntry): TransactionProgram<number> {
  const link = yield* readSyncState();
  const { newestOnly, ...rest } = record;
  const freed = newestOnly ? yield* supersedeOlder(lane, record.type, record.id) : 0;
  const sequence = link[`${lane}Seq`] + 1;
  const bytes = estimateBytes(record.body);
  yield* putRecord(OUTBOX, { ...rest, lane, sequence, isNewest: 1, bytes });
  yield* putRecord(SYNC_STATE, { ...link, [`${lane}Seq`]: sequence, outboxBytes: link.outboxBytes + bytes - freed });
  return sequence;
}

/** Whether a version of the row was queued, and may have been sent already. */
export function* isInOutbox(type: string, id: string): TransactionProgram<boolean> {
  return (yield* scanRecords(OUTBOX, { by: "row", where: ["bulk", type, id, 1], limit: 1 })).length > 0;
}

function estimateBytes(body: RowBody | null): number {
  return 100 + (body ? JSON.stringify(body).length : 0);
}

/**
 * Hollows older versions out. Number and uid stay, because the cloud may have received them. Returns the bytes freed.
 */
function* supersedeOlder(lane: UpstreamFeed, type: string, id: string): TransactionProgram<number> {
  let freed = 0;
  for (const older of yield* scanRecords(OUTBOX, { by: "row", where: [lane, type, id, 1] })) {
    freed += older.bytes - estimateBytes(null);
    yield* putRecord(OUTBOX, superseded(older));
  }
  return freed;
}

function superseded(record: OutboxRecord): OutboxRecord {
  return { ...record, op: "hollow", body: null, isNewest: 0, bytes: estimateBytes(null) };
}

/**
 * Queues records with numbers in (`after`, `upTo`] again, at most `limit`; returns the position reached. The cloud has
 * these numbers, but maybe not this content: if this is an older copy of the disk, records that were superseded since
 * the backup arrived hollow. They keep their uids, by which the cloud deduplicates; records with a newer version of the
 * row are skipped, because they would overwrite it.
 */
export function* requeueRecords(
  lane: UpstreamFeed,
  after: number,
  upTo: number,
  limit = 500,
): TransactionProgram<number> {
  const link = yield* readSyncState();
  let sequence = link[`${lane}Seq`];
  const records = yield* scanRecords(OUTBOX, { where: [lane], after, upTo, limit });
  for (const record of records) {
    if (record.isNewest === 0 || (yield* hasNewerRecord(record))) continue;
    sequence += 1;
    yield* putRecord(OUTBOX, superseded(record));
    yield* putRecord(OUTBOX, { ...record, sequence });
  }
  const outboxBytes = link.outboxBytes + (sequence - link[`${lane}Seq`]) * estimateBytes(null);
  yield* putRecord(SYNC_STATE, { ...link, [`${lane}Seq`]: sequence, outboxBytes });
  return records.length < limit ? upTo : (records.at(-1)?.sequence ?? upTo);
}

function* hasNewerRecord({ lane, type, id, sequence }: OutboxRecord): TransactionProgram<boolean> {
  return (yield* scanRecords(OUTBOX, { by: "row", where: [lane, type, id, 1], after: sequence, limit: 1 })).length > 0;
}

/** The next page of a feed after `sent`, or null. `more` if another may follow. */
export function* nextUpstreamPage(
  lane: UpstreamFeed,
  sent: number,
  limits: SyncLimits,
): TransactionProgram<{ frame: UpstreamPage; bytes: number; more: boolean } | null> {
  const found = yield* scanRecords(OUTBOX, { where: [lane], after: sent, limit: limits.pageRows });
  const records = takeWithinBytes(found, limits.pageBytes);
  const last = records.at(-1);
  if (!last) return null;
  const rows = records.filter(({ op }) => op !== "hollow").map(toUpstreamRow);
  const frame: UpstreamPage = { t: "rows", feed: `up.${lane}`, from: sent, to: last.sequence, tail: last.uid, rows };
  const more = found.length === limits.pageRows || records.length < found.length;
  return { frame, bytes: records.reduce((sum, { bytes }) => sum + bytes, 0), more };
}

function toUpstreamRow({ op, type, id, sequence, uid, body }: OutboxRecord): UpstreamRow {
  const kind = op as "p" | "d";
  return body ? [kind, type, id, sequence, uid, body] : [kind, type, id, sequence, uid];
}

function takeWithinBytes(records: readonly OutboxRecord[], most: number): OutboxRecord[] {
  let sum = 0;
  const over = records.findIndex(({ bytes }, at) => {
    sum += bytes;
    return at > 0 && sum > most;
  });
  return records.slice(0, over === -1 ? records.length : over);
}

/**
 * Advances the acknowledged position; never back. Returns the number of acknowledged rows by resource, phones
 * separately.
 */
export function* recordAcked(lane: UpstreamFeed, to: number): TransactionProgram<Readonly<Record<string, number>>> {
  const link = yield* readSyncState();
  const before = link[`${lane}Acked`];
  if (to <= before) return {};
  const arrived: Record<string, number> = {};
  for (const { op, type, body } of yield* scanRecords(OUTBOX, { where: [lane], after: before, upTo: to })) {
    const of = activityCountKey(type, body);
    if (op !== "hollow" && !UNCOUNTED.has(type)) arrived[of] = (arrived[of] ?? 0) + 1;
  }
  yield* putRecord(SYNC_STATE, { ...link, [`${lane}Acked`]: to });
  return arrived;
}

/** Not rows of the product, or activities, which would report themselves for ever. */
const UNCOUNTED: ReadonlySet<string> = new Set(["outcome", "taken", FULL_STATE_SENT, "endpoint-activities"]);

/** Whether the own record at `hw` is the one that the cloud has there. False after a restore. */
export function* matchesTail(
  link: SyncState,
  lane: UpstreamFeed,
  hw: number,
  tail: string | null,
): TransactionProgram<boolean> {
  if (hw === 0) return true;
  if (hw > link[`${lane}Seq`]) return false;
  const own = yield* getRecord(OUTBOX, lane, hw);
  return own !== null && own.uid === tail;
}

/** Renumbers all kept records from 1, to be sent again. Returns the new numbers by uid and the remaining bytes. */
export function* renumberOutbox(
  lane: UpstreamFeed,
): TransactionProgram<{ numbers: Map<string, number>; bytes: number }> {
  const records = yield* scanRecords(OUTBOX, { where: [lane] });
  const kept = records.filter(({ op }) => op !== "hollow");
  const numbers = new Map(kept.map(({ uid }, at) => [uid, at + 1]));
  for (const { sequence } of records) yield* deleteRecord(OUTBOX, lane, sequence);
  for (const record of kept) yield* putRecord(OUTBOX, { ...record, sequence: numbers.get(record.uid) as number });
  return { numbers, bytes: kept.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Records the acknowledged positions at the begin of each day of observed cloud time. */
export function* recordAckedPosition(cloudTime: number): TransactionProgram<void> {
  const day = Math.floor(cloudTime / DAY_MS);
  if (yield* getRecord(ACKED_POSITIONS, day)) return;
  const { bulkAcked, hotAcked } = yield* readSyncState();
  yield* putRecord(ACKED_POSITIONS, { day, bulk: bulkAcked, hot: hotAcked });
}

/** Position that was acknowledged before the retention period; older days are deleted. */
function* ackedBeforeRetention(lane: UpstreamFeed, cloudTime: number): TransactionProgram<number> {
  const days = yield* scanRecords(ACKED_POSITIONS, { upTo: Math.floor(cloudTime / DAY_MS) - RETENTION_DAYS - 1 });
  for (const { day } of days.slice(0, -1)) yield* deleteRecord(ACKED_POSITIONS, day);
  return days.at(-1)?.[lane] ?? 0;
}

/**
 * Deletes records acknowledged before the retention period in cloud time (null if it was not observed) or, oldest
 * first, those that exceed `maxBytes`. Never deletes the last acknowledged record, which detects a restore, nor
 * unacknowledged ones. At most `limit` records; true if there may be more.
 */
export function* pruneAcked(
  lane: UpstreamFeed,
  cloudTime: number | null,
  maxBytes: number,
  limit = 500,
): TransactionProgram<boolean> {
  const link = yield* readSyncState();
  const longAgo = cloudTime === null ? 0 : yield* ackedBeforeRetention(lane, cloudTime);
  if (longAgo === 0 && link.outboxBytes <= maxBytes) return false;
  const arrived = yield* scanRecords(OUTBOX, { where: [lane], upTo: link[`${lane}Acked`] - 1, limit });
  let { outboxBytes } = link;
  let forgotten = 0;
  for (const { sequence, bytes } of arrived) {
    if (sequence > longAgo && outboxBytes <= maxBytes) break;
    yield* deleteRecord(OUTBOX, lane, sequence);
    outboxBytes -= bytes;
    forgotten += 1;
  }
  if (forgotten > 0) yield* putRecord(SYNC_STATE, { ...link, outboxBytes });
  return forgotten === limit;
}
