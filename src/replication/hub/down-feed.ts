import { CallerError } from "../../base/errors.ts";
import { EMPTY, together } from "../digests.ts";
import type { Digest, DownPage, DownRow, EditResult, Limits, SnapPage } from "../frames.ts";
import { get, put, scan, type Work } from "../work.ts";
import { head } from "./publish.ts";
import { DECIDED, DIGESTS, type FeedRow, LINKS, ROWS, type SiteLink } from "./tables.ts";

/** What a connection must remember to read on. */
export interface Cursor {
  endpoint: string;
  /** The connection's number: an older one reads nothing more. */
  sess: number;
  types: readonly string[];
  /** Up to where the feed was sent. */
  at: number;
  /** Up to where decisions of own edits were told. */
  told: number;
  /** The appliance stored what it did not apply yet, or was never told that it has all. */
  owesMark: boolean;
  owesDigests: boolean;
  /** A snapshot under way: at which number it began, and after which key it goes on. */
  snap: { h0: number; after: string | null } | null;
}

/** A snapshot that nobody continues holds deletions back for so long. @source replication.md 3 */
const HOLD_MS = 3600_000;

/** Whether rows of a part of the organisation, or (null) of all of it, go to an appliance. */
export function holds(link: SiteLink, scope: string | null): boolean {
  return scope === null || link.scopes === null || link.scopes.includes(scope);
}

function held(link: SiteLink, { past }: FeedRow): boolean {
  return past.some((scope) => scope === "*" || holds(link, scope));
}

/** How a row goes to an appliance; null when it never concerned it. A row that left its part is deleted there. */
function wireRow(link: SiteLink, row: FeedRow, types: ReadonlySet<string>): DownRow | null {
  const { type, id, seq, gone, scope, body } = row;
  if (!types.has(type)) return null;
  if (!gone && body && holds(link, scope)) return ["p", type, id, seq, body];
  return holds(link, scope) || held(link, row) ? ["d", type, id, seq] : null;
}

/** A frame and about how many bytes it has. */
export interface Sized<F> {
  frame: F;
  bytes: number;
}

function withinBytes(rows: readonly FeedRow[], most: number): { read: readonly FeedRow[]; bytes: number } {
  let bytes = 0;
  for (const [at, { body }] of rows.entries()) {
    const size = 100 + (body ? JSON.stringify(body).length : 0);
    if (at > 0 && bytes + size > most) return { read: rows.slice(0, at), bytes };
    bytes += size;
  }
  return { read: rows, bytes };
}

/** Rows that are read at a time: of long ones few fit into a page. own choice */
const PORTION = 25;

/** Rows of the feed for one page; `isAll` when there are none after them. */
function* feedRows(after: number, limits: Limits): Work<{ read: FeedRow[]; bytes: number; isAll: boolean }> {
  const read: FeedRow[] = [];
  let bytes = 0;
  while (read.length < limits.pageRows) {
    // About as many as there is room for, when there are some to tell by.
    const fit = read.length === 0 ? PORTION : Math.ceil(((limits.pageBytes - bytes) * read.length) / bytes);
    const limit = Math.min(PORTION, limits.pageRows - read.length, Math.max(1, fit));
    const found = yield* scan(ROWS, { by: "feed", after: read.at(-1)?.seq ?? after, limit });
    const fitting = withinBytes(found, limits.pageBytes - bytes);
    // Alone, the first one may be longer than a page.
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
 * The next page, null when there is nothing to say. A page that reaches the head of the feed, read in the same
 * transaction, is a mark: it holds every row that changed since it was sent before. Throws CallerError for a connection
 * whose place was taken, and for one that stands below the floor by now.
 */
export function* readPage(cursor: Cursor, limits: Limits): Work<Sized<DownPage> | null> {
  const [{ seq, floor }, link] = [yield* head(), yield* linkOf(cursor)];
  // It begins anew, and is given all rows.
  if (cursor.at < floor) throw new CallerError("conflict", "Deletions that it was not told of are forgotten.");
  const { read, bytes, isAll: isMark } = yield* feedRows(cursor.at, limits);
  const decided = link.hotHw;
  const results = isMark ? yield* resultsOf(link, cursor.told, decided) : [];
  const isOwed = cursor.owesMark || cursor.owesDigests || results.length > 0;
  if (isMark && cursor.at === seq && !isOwed) return null;
  const known = new Set(cursor.types);
  const rows = read.map((row) => wireRow(link, row, known)).filter((row) => row !== null);
  const to = isMark ? seq : (read.at(-1) as FeedRow).seq;
  const page: DownPage = { t: "rows", feed: "down.bulk", from: cursor.at, to, rows };
  if (!isMark) return { frame: page, bytes };
  const digests = cursor.owesDigests ? { digests: yield* digestsOf(link, cursor.types) } : {};
  const mark = { after: cursor.told, decided, results, ...digests };
  return { frame: { ...page, mark }, bytes };
}

/** Throws CallerError for a connection that a newer one, or a change of what it may hold, has taken the place of. */
export function* linkOf({ endpoint, sess }: Cursor): Work<SiteLink> {
  const link = yield* get(LINKS, endpoint);
  if (link?.sess !== sess) throw new CallerError("conflict", "Another connection took its place.");
  return link;
}

function* resultsOf({ endpoint, inc }: SiteLink, after: number, upTo: number): Work<EditResult[]> {
  const decided = yield* scan(DECIDED, { where: [endpoint, inc], after, upTo });
  return decided.map(({ uid, result, lost }) => ({ uid, result, lost }));
}

function* digestsOf(link: SiteLink, types: readonly string[]): Work<Record<string, Digest>> {
  const digests: Record<string, Digest> = {};
  for (const type of types) {
    for (const { scope, count, sum } of yield* scan(DIGESTS, { where: [type] })) {
      if (holds(link, scope || null)) digests[type] = together(digests[type] ?? EMPTY, { count, sum });
    }
  }
  return digests;
}

/** The next page of a snapshot: live rows by type and id. What changes meanwhile comes with the feed after it. */
export function* readSnapPage(cursor: Cursor, limits: Limits): Work<Sized<SnapPage>> {
  const { h0, after } = cursor.snap as NonNullable<Cursor["snap"]>;
  const link = yield* linkOf(cursor);
  const [lastType = "", lastId = ""] = (after ?? "").split("/");
  const rows: DownRow[] = [];
  let key = after;
  let sum = 0;
  for (const type of cursor.types.filter((each) => each >= lastType)) {
    const onwards = type === lastType ? { after: lastId } : {};
    const limit = limits.pageRows - rows.length;
    const found = yield* scan(ROWS, { by: "live", where: [type, 0], limit, ...onwards });
    const { read, bytes } = withinBytes(found, limits.pageBytes - sum);
    sum += bytes;
    for (const row of read) {
      if (row.body && holds(link, row.scope)) rows.push(["p", row.type, row.id, row.seq, row.body]);
      key = `${row.type}/${row.id}`;
    }
    if (read.length === limit || read.length < found.length || rows.length >= limits.pageRows) {
      return { frame: { t: "snap", h0, from: after, after: key, rows, end: false }, bytes: sum };
    }
  }
  return { frame: { t: "snap", h0, from: after, after: key, rows, end: true }, bytes: sum };
}

/** Decides whether an appliance needs all rows anew, and from where. Deletions are held back for it meanwhile. */
export function* snapshotFor(
  link: SiteLink,
  hello: { isSame: boolean; recv: number; fresh: boolean; snap: Cursor["snap"] },
  now: number,
): Work<Cursor["snap"]> {
  const { seq, floor } = yield* head();
  const { isSame } = hello;
  const resumed = isSame && !hello.fresh && hello.snap && hello.snap.h0 >= floor ? hello.snap : null;
  const isOld = !isSame || hello.fresh || hello.snap !== null || hello.recv < floor || hello.recv > seq;
  const snap = resumed ?? (isOld ? { h0: seq, after: null } : null);
  yield* put(LINKS, { ...link, hold: snap?.h0 ?? null, holdUntil: snap ? now + HOLD_MS : null });
  return snap;
}
