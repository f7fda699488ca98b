import { CallerError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import {
  type Digest,
  type DownstreamPage,
  type DownstreamRow,
  type EditResult,
  MAX_REASON_LENGTH,
  type SnapshotPage,
  type SyncLimits,
} from "../protocol/frames.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { EMPTY_DIGEST, sumDigests } from "../protocol/row-digests.ts";
import { getRecord, putRecord, scanRecords, type TransactionProgram } from "../storage/transaction-program.ts";
import { readFeedHead } from "./publish.ts";
import { isInScope, readSentBody, wasInScope } from "./row-scopes.ts";
import {
  DECIDED_EDITS,
  type DecidedEdit,
  FEED_RECORDS,
  type FeedRecord,
  LATE_RESULTS,
  LINK_RECORDS,
  type LinkRecord,
  SCOPE_DIGESTS,
} from "./tables.ts";

/** Read position of a connection. */
export interface FeedCursor {
  endpoint: string;
  /** Session number; a connection with an older one must not read on. */
  sess: number;
  types: readonly string[];
  /** The feed was sent up to this sequence number. */
  sentTo: number;
  /** Results of own edits were sent up to this sequence number. */
  resultsSentTo: number;
  /** Late results were sent up to this place. */
  lateSentTo: number;
  /** The appliance has stored rows without their checkpoint, or was never sent one. */
  needsCheckpoint: boolean;
  needsDigests: boolean;
  /** An unfinished snapshot: the head at which it started, and the key after which it continues. */
  snapshot: { h0: number; after: string | null } | null;
}

/** Late results per checkpoint. @source docs/decisions/0465-waiting-edits.md */
const MAX_LATE_RESULTS = 100;
/** Other results per checkpoint: those of a first sync would exceed a frame. @source docs/decisions/0652-random-first-syncs.md */
const MAX_RESULTS = 500;

/** How long an unfinished snapshot keeps tombstones. @source docs/decisions/0040-replication.md, Section 3 */
const SNAPSHOT_HOLD_MS = 3600_000;

/** Rows as sent to an appliance, without those that never were in its scope. A row that left it is sent as deleted. */
function* toDownstreamRows(
  link: LinkRecord,
  rows: readonly FeedRecord[],
  known: ReadonlySet<string>,
  types: ReplicatedTypes,
): TransactionProgram<DownstreamRow[]> {
  const sent: DownstreamRow[] = [];
  for (const row of rows) {
    const { type, id, seq, gone, scope } = row;
    if (!known.has(type)) continue;
    const body = gone ? null : yield* readSentBody(link, row, types);
    if (body) sent.push(["p", type, id, seq, body]);
    else if (isInScope(link, scope) || wasInScope(link, row)) sent.push(["d", type, id, seq]);
  }
  return sent;
}

/** A frame and its approximate size in bytes. */
export interface SizedFrame<F> {
  frame: F;
  bytes: number;
}

function takeWithinBytes(rows: readonly FeedRecord[], most: number): { read: readonly FeedRecord[]; bytes: number } {
  let bytes = 0;
  for (const [at, { body }] of rows.entries()) {
    const size = 100 + (body ? JSON.stringify(body).length : 0);
    if (at > 0 && bytes + size > most) return { read: rows.slice(0, at), bytes };
    bytes += size;
  }
  return { read: rows, bytes };
}

/** Rows per query; few long ones fill a page. @source docs/decisions/0300-sync-limits.md */
const ROWS_PER_READ = 25;

/** Feed records for one page; `isAll` if none follow. */
function* readFeedRows(
  after: number,
  limits: SyncLimits,
): TransactionProgram<{ read: FeedRecord[]; bytes: number; isAll: boolean }> {
  const read: FeedRecord[] = [];
  let bytes = 0;
  while (read.length < limits.pageRows) {
    // Estimate how many fit from the average size so far.
    const fit = read.length === 0 ? ROWS_PER_READ : Math.ceil(((limits.pageBytes - bytes) * read.length) / bytes);
    const limit = Math.min(ROWS_PER_READ, limits.pageRows - read.length, Math.max(1, fit));
    const found = yield* scanRecords(FEED_RECORDS, { by: "feed", after: read.at(-1)?.seq ?? after, limit });
    const fitting = takeWithinBytes(found, limits.pageBytes - bytes);
    // A single row may exceed a page.
    const isFull = read.length > 0 && bytes + fitting.bytes > limits.pageBytes;
    if (isFull) break;
    read.push(...fitting.read);
    bytes += fitting.bytes;
    if (fitting.read.length < found.length) break;
    if (found.length < limit) return { read, bytes, isAll: true };
  }
  return { read, bytes, isAll: false };
}

/**
 * The next page, null if there is nothing to send. A page that reaches the head of the feed, read in the same
 * transaction, is a checkpoint: it completes all changes since the one before. Throws CallerError if the connection was
 * replaced, or if its position is below the floor.
 */
export function* readDownstreamPage(
  cursor: FeedCursor,
  limits: SyncLimits,
  types: ReplicatedTypes,
): TransactionProgram<(SizedFrame<DownstreamPage> & { lateSentTo?: number | undefined; more?: boolean }) | null> {
  const [{ seq, floor }, link] = [yield* readFeedHead(), yield* requireCurrentLink(cursor)];
  // It reconnects and gets a full resync.
  if (cursor.sentTo < floor)
    throw new CallerError("conflict", sentence("error.the-position-is-below-the-floor-a-full-resync-is-needed"));
  const { read, bytes, isAll: isMark } = yield* readFeedRows(cursor.sentTo, limits);
  const late = isMark
    ? yield* scanRecords(LATE_RESULTS, { where: [link.endpoint], after: cursor.lateSentTo, limit: MAX_LATE_RESULTS })
    : [];
  const own = isMark ? yield* readEditResults(link, cursor.resultsSentTo) : [];
  const more = own.length === MAX_RESULTS;
  const decided = more ? (own.at(-1)?.oseq ?? 0) : link.hotHw;
  const results = [...own, ...late].map(toEditResult);
  const isOwed = cursor.needsCheckpoint || cursor.needsDigests || results.length > 0;
  if (isMark && cursor.sentTo === seq && !isOwed) return null;
  const known = new Set(cursor.types);
  const rows = yield* toDownstreamRows(link, read, known, types);
  const to = isMark ? seq : (read.at(-1) as FeedRecord).seq;
  const page: DownstreamPage = { t: "rows", feed: "down.bulk", from: cursor.sentTo, to, rows };
  if (!isMark) return { frame: page, bytes };
  const digests = cursor.needsDigests ? { digests: yield* readDigests(link, cursor.types) } : {};
  const mark = { after: cursor.resultsSentTo, decided, results, ...digests };
  return { frame: { ...page, mark }, bytes, lateSentTo: late.at(-1)?.place, more };
}

/** Throws CallerError if the connection was replaced by a newer one or by a change of the scopes. */
export function* requireCurrentLink({ endpoint, sess }: FeedCursor): TransactionProgram<LinkRecord> {
  const link = yield* getRecord(LINK_RECORDS, endpoint);
  if (link?.sess !== sess)
    throw new CallerError("conflict", sentence("error.the-connection-was-replaced-by-a-newer-one"));
  return link;
}

function* readEditResults({ endpoint, inc, hotHw }: LinkRecord, after: number): TransactionProgram<DecidedEdit[]> {
  return yield* scanRecords(DECIDED_EDITS, { where: [endpoint, inc], after, upTo: hotHw, limit: MAX_RESULTS });
}

/** An appliance refuses a frame with a longer reason, and with it all that follows. */
const toEditResult = ({ uid, result, lost, reason }: EditResult): EditResult => ({
  ...{ uid, result, lost },
  reason: reason?.slice(0, MAX_REASON_LENGTH) ?? null,
});

function* readDigests(link: LinkRecord, types: readonly string[]): TransactionProgram<Record<string, Digest>> {
  const digests: Record<string, Digest> = {};
  for (const type of types) {
    for (const { scope, count, sum } of yield* scanRecords(SCOPE_DIGESTS, { where: [type] })) {
      if (isInScope(link, scope || null)) digests[type] = sumDigests(digests[type] ?? EMPTY_DIGEST, { count, sum });
    }
  }
  return digests;
}

/** The next page of a snapshot: live rows by type and id. Concurrent changes follow with the feed. */
export function* readSnapshotPage(
  cursor: FeedCursor,
  limits: SyncLimits,
  types: ReplicatedTypes,
): TransactionProgram<SizedFrame<SnapshotPage>> {
  const { h0, after } = cursor.snapshot as NonNullable<FeedCursor["snapshot"]>;
  const link = yield* requireCurrentLink(cursor);
  const [lastType = "", lastId = ""] = (after ?? "").split("/");
  const rows: DownstreamRow[] = [];
  let key = after;
  let sum = 0;
  for (const type of cursor.types.filter((each) => each >= lastType)) {
    const onwards = type === lastType ? { after: lastId } : {};
    const limit = limits.pageRows - rows.length;
    const found = yield* scanRecords(FEED_RECORDS, { by: "live", where: [type, 0], limit, ...onwards });
    const { read, bytes } = takeWithinBytes(found, limits.pageBytes - sum);
    sum += bytes;
    for (const row of read) {
      const body = yield* readSentBody(link, row, types);
      if (body) rows.push(["p", row.type, row.id, row.seq, body]);
      key = `${row.type}/${row.id}`;
    }
    if (read.length === limit || read.length < found.length || rows.length >= limits.pageRows) {
      return { frame: { t: "snap", h0, from: after, after: key, rows, end: false }, bytes: sum };
    }
  }
  return { frame: { t: "snap", h0, from: after, after: key, rows, end: true }, bytes: sum };
}

/** Decides whether an appliance needs a full resync, and from which key. Holds tombstones for it. */
export function* planSnapshot(
  link: LinkRecord,
  hello: { isSame: boolean; recv: number; fresh: boolean; snap: FeedCursor["snapshot"] },
  now: number,
): TransactionProgram<FeedCursor["snapshot"]> {
  const { seq, floor } = yield* readFeedHead();
  const { isSame } = hello;
  const resumed = isSame && !hello.fresh && hello.snap && hello.snap.h0 >= floor ? hello.snap : null;
  const isOld = !isSame || hello.fresh || hello.snap !== null || hello.recv < floor || hello.recv > seq;
  const snap = resumed ?? (isOld ? { h0: seq, after: null } : null);
  yield* putRecord(LINK_RECORDS, { ...link, hold: snap?.h0 ?? null, holdUntil: snap ? now + SNAPSHOT_HOLD_MS : null });
  return snap;
}
