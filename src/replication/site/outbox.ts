import { countedAs } from "../activity-types.ts";
import { type Lane, type Limits, STATE_TOLD, type UpPage, type UpRow } from "../frames.ts";
import { type Body, drop, get, put, scan, type Work } from "../work.ts";
import { linkState } from "./link-state.ts";
import { ARRIVED, LINK, type LinkState, OUT, type Outgoing } from "./tables.ts";

/** A record to be sent. */
export interface NewRecord {
  uid: string;
  op: "p" | "d";
  type: string;
  id: string;
  body: Body | null;
  at: number;
  /** The row's older versions need not arrive. */
  newestOnly?: boolean;
}

/** How long a record is kept after it arrived, for a cloud that is restored. @source replication.md, settled questions (e) */
const KEPT_DAYS = 30;
const DAY_MS = 24 * 3600_000;
/** What is kept to go up, or to go up again, at most. own choice */
export const MOST_OUT_BYTES = 256e6;

/** Adds a record to a feed; returns its number. */
export function* enqueue(lane: Lane, record: NewRecord): Work<number> {
  const link = yield* linkState();
  const { newestOnly, ...rest } = record;
  const freed = newestOnly ? yield* hollowOlder(lane, record.type, record.id) : 0;
  const oseq = link[`${lane}Seq`] + 1;
  const bytes = sizeOf(record.body);
  yield* put(OUT, { ...rest, lane, oseq, live: 1, bytes });
  yield* put(LINK, { ...link, [`${lane}Seq`]: oseq, outBytes: link.outBytes + bytes - freed });
  return oseq;
}

function sizeOf(body: Body | null): number {
  return 100 + (body ? JSON.stringify(body).length : 0);
}

/** Number and name stay, as the cloud may have got it and asks for its name. Returns the bytes that became free. */
function* hollowOlder(lane: Lane, type: string, id: string): Work<number> {
  let freed = 0;
  for (const older of yield* scan(OUT, { by: "row", where: [lane, type, id, 1] })) {
    freed += older.bytes - sizeOf(null);
    yield* put(OUT, hollow(older));
  }
  return freed;
}

function hollow(record: Outgoing): Outgoing {
  return { ...record, op: "hollow", body: null, live: 0, bytes: sizeOf(null) };
}

/**
 * Sends the records after one, up to another, once more, at most `limit`; returns up to where it came. The cloud has their
 * numbers, but not surely what is in them: if this is an older copy of the disk, those that were overtaken since then went
 * as hollow ones. They keep their names, by which the cloud knows what it has taken; one of a row that a newer record tells
 * of would come behind that one.
 */
export function* sendAgain(lane: Lane, after: number, upTo: number, limit = 500): Work<number> {
  const link = yield* linkState();
  let oseq = link[`${lane}Seq`];
  const records = yield* scan(OUT, { where: [lane], after, upTo, limit });
  for (const record of records) {
    if (record.live === 0 || (yield* isRetold(record))) continue;
    oseq += 1;
    yield* put(OUT, hollow(record));
    yield* put(OUT, { ...record, oseq });
  }
  const outBytes = link.outBytes + (oseq - link[`${lane}Seq`]) * sizeOf(null);
  yield* put(LINK, { ...link, [`${lane}Seq`]: oseq, outBytes });
  return records.length < limit ? upTo : (records.at(-1)?.oseq ?? upTo);
}

function* isRetold({ lane, type, id, oseq }: Outgoing): Work<boolean> {
  return (yield* scan(OUT, { by: "row", where: [lane, type, id, 1], after: oseq, limit: 1 })).length > 0;
}

/** The next page of a feed after what was sent, or null. `more` when another one may follow. */
export function* nextPage(
  lane: Lane,
  sent: number,
  limits: Limits,
): Work<{ frame: UpPage; bytes: number; more: boolean } | null> {
  const found = yield* scan(OUT, { where: [lane], after: sent, limit: limits.pageRows });
  const records = withinBytes(found, limits.pageBytes);
  const last = records.at(-1);
  if (!last) return null;
  const rows = records.filter(({ op }) => op !== "hollow").map(wireRow);
  const frame: UpPage = { t: "rows", feed: `up.${lane}`, from: sent, to: last.oseq, tail: last.uid, rows };
  const more = found.length === limits.pageRows || records.length < found.length;
  return { frame, bytes: records.reduce((sum, { bytes }) => sum + bytes, 0), more };
}

function wireRow({ op, type, id, oseq, uid, body }: Outgoing): UpRow {
  const kind = op as "p" | "d";
  return body ? [kind, type, id, oseq, uid, body] : [kind, type, id, oseq, uid];
}

function withinBytes(records: readonly Outgoing[], most: number): Outgoing[] {
  let sum = 0;
  const over = records.findIndex(({ bytes }, at) => {
    sum += bytes;
    return at > 0 && sum > most;
  });
  return records.slice(0, over === -1 ? records.length : over);
}

/** Notes up to where the cloud has a feed. Older news change nothing. Returns how many rows of each resource arrived, phones by themselves. */
export function* noteAcked(lane: Lane, to: number): Work<Readonly<Record<string, number>>> {
  const link = yield* linkState();
  const before = link[`${lane}Acked`];
  if (to <= before) return {};
  const arrived: Record<string, number> = {};
  for (const { op, type, body } of yield* scan(OUT, { where: [lane], after: before, upTo: to })) {
    const of = countedAs(type, body);
    if (op !== "hollow" && !UNCOUNTED.has(type)) arrived[of] = (arrived[of] ?? 0) + 1;
  }
  yield* put(LINK, { ...link, [`${lane}Acked`]: to });
  return arrived;
}

/** What is no row; and activities, which would tell of themselves for ever. */
const UNCOUNTED: ReadonlySet<string> = new Set(["outcome", "taken", STATE_TOLD, "endpoint-activities"]);

/** Whether the record at `hw` is the one that the cloud has there. False after a restore. */
export function* hasTail(link: LinkState, lane: Lane, hw: number, tail: string | null): Work<boolean> {
  if (hw === 0) return true;
  if (hw > link[`${lane}Seq`]) return false;
  const own = yield* get(OUT, lane, hw);
  return own !== null && own.uid === tail;
}

/**
 * Numbers everything that is kept anew from 1, to be sent again. Returns the new numbers by uid and the bytes that are
 * left.
 */
export function* renumber(lane: Lane): Work<{ numbers: Map<string, number>; bytes: number }> {
  const records = yield* scan(OUT, { where: [lane] });
  const kept = records.filter(({ op }) => op !== "hollow");
  const numbers = new Map(kept.map(({ uid }, at) => [uid, at + 1]));
  for (const { oseq } of records) yield* drop(OUT, lane, oseq);
  for (const record of kept) yield* put(OUT, { ...record, oseq: numbers.get(record.uid) as number });
  return { numbers, bytes: kept.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** Remembers what has arrived when a day of the cloud begins. `cloudTime` as heard. */
export function* noteDay(cloudTime: number): Work<void> {
  const day = Math.floor(cloudTime / DAY_MS);
  if (yield* get(ARRIVED, day)) return;
  const { bulkAcked, hotAcked } = yield* linkState();
  yield* put(ARRIVED, { day, bulk: bulkAcked, hot: hotAcked });
}

/** Up to where a feed had arrived long ago. Days before that one are not needed any more. */
function* arrivedLongAgo(lane: Lane, cloudTime: number): Work<number> {
  const days = yield* scan(ARRIVED, { upTo: Math.floor(cloudTime / DAY_MS) - KEPT_DAYS - 1 });
  for (const { day } of days.slice(0, -1)) yield* drop(ARRIVED, day);
  return days.at(-1)?.[lane] ?? 0;
}

/**
 * Forgets what arrived long ago by the cloud's time (null when it was not heard), or, oldest first, what is over
 * `mostBytes`; never the last record that arrived, by which a restore is found out, nor what did not arrive. At most
 * `limit` records; true when there may be more to forget.
 */
export function* forgetArrived(lane: Lane, cloudTime: number | null, mostBytes: number, limit = 500): Work<boolean> {
  const link = yield* linkState();
  const longAgo = cloudTime === null ? 0 : yield* arrivedLongAgo(lane, cloudTime);
  if (longAgo === 0 && link.outBytes <= mostBytes) return false;
  const arrived = yield* scan(OUT, { where: [lane], upTo: link[`${lane}Acked`] - 1, limit });
  let { outBytes } = link;
  let forgotten = 0;
  for (const { oseq, bytes } of arrived) {
    if (oseq > longAgo && outBytes <= mostBytes) break;
    yield* drop(OUT, lane, oseq);
    outBytes -= bytes;
    forgotten += 1;
  }
  if (forgotten > 0) yield* put(LINK, { ...link, outBytes });
  return forgotten === limit;
}
