import { BugError } from "../../lib/errors.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { adjustDigest, EMPTY_DIGEST, rowVersionHash } from "../protocol/row-digests.ts";
import {
  type ApplyResult,
  applyRow,
  deleteRecord,
  getRecord,
  putRecord,
  type RowBody,
  type TransactionProgram,
} from "../storage/transaction-program.ts";
import { readRowScope } from "./row-scopes.ts";
import {
  FEED_HEAD,
  FEED_RECORDS,
  type FeedHead,
  type FeedRecord,
  SCOPE_CHANGES,
  SCOPE_DIGESTS,
  UNIQUE_NAMES,
} from "./tables.ts";

/** A row to publish; null deletes it. The caller also deletes the children of a deleted row. */
export interface RowPublication {
  type: string;
  id: string;
  body: RowBody | null;
  /** Scope of a row that does not say itself where it belongs; default: as before. */
  scope?: string | null;
  at: number;
}

/** Head of the feed. Throws BugError before `initializeFeed`. */
export function* readFeedHead(): TransactionProgram<FeedHead> {
  const found = yield* getRecord(FEED_HEAD, "head");
  if (!found) throw new BugError("feed not initialized");
  return found;
}

/** Creates the feed of a new tenant. */
export function* initializeFeed(epoch: string): TransactionProgram<void> {
  if (!(yield* getRecord(FEED_HEAD, "head")))
    yield* putRecord(FEED_HEAD, { id: "head", epoch, since: 0, seq: 0, floor: 0 });
}

/** Starts an epoch: all appliances do a full resync. Used after a restore of the cloud's database, or on command. */
export function* startEpoch(epoch: string, now: number): TransactionProgram<void> {
  yield* putRecord(FEED_HEAD, { ...(yield* readFeedHead()), epoch, since: now });
}

/**
 * The only way to change cloud-owned rows: each gets the next sequence number of the feed, in the transaction that
 * writes it. Returns the result for each row; refused rows are not published.
 */
export function* publishRows(
  rows: readonly RowPublication[],
  types: ReplicatedTypes,
): TransactionProgram<ApplyResult[]> {
  let { seq, ...rest } = yield* readFeedHead();
  const applied: ApplyResult[] = [];
  for (const row of rows) {
    const result = yield* applyRow(row.type, row.id, row.body);
    applied.push(result);
    if (result !== "done") continue;
    seq += 1;
    yield* appendToFeed(row, seq, types);
  }
  yield* putRecord(FEED_HEAD, { ...rest, seq });
  return applied;
}

/** As `publishRows`, for rows that this transaction has already written. */
export function* publishWrittenRows(rows: readonly RowPublication[], types: ReplicatedTypes): TransactionProgram<void> {
  let { seq, ...rest } = yield* readFeedHead();
  for (const row of rows) {
    seq += 1;
    yield* appendToFeed(row, seq, types);
  }
  yield* putRecord(FEED_HEAD, { ...rest, seq });
}

function* appendToFeed(
  { type, id, body, scope, at }: RowPublication,
  seq: number,
  types: ReplicatedTypes,
): TransactionProgram<void> {
  const before = yield* getRecord(FEED_RECORDS, type, id);
  if (before && !before.gone) yield* updateDigest(before, -1);
  const kept = before?.scope ?? null;
  const home = body ? yield* scopeOf({ type, body, scope }, kept, types) : kept;
  // Rows that refer to it are part of it, or were sent without the reference.
  if (before && body && home !== kept) yield* putRecord(SCOPE_CHANGES, { type, id, from: null });
  const after: FeedRecord = {
    type,
    id,
    seq,
    gone: body ? 0 : 1,
    scope: home,
    past: previousScopes(before, home),
    body,
    at,
  };
  yield* updateUniqueName(before, after, types);
  yield* putRecord(FEED_RECORDS, after);
  if (body) yield* updateDigest(after, 1);
}

/** Gives a published row the scope that it should have, without a new version of it. */
export function* setRowScope(record: FeedRecord, types: ReplicatedTypes): TransactionProgram<void> {
  const { type, body } = record;
  const scope = body ? yield* scopeOf({ type, body, scope: undefined }, record.scope, types) : record.scope;
  if (scope === record.scope) return;
  const after = { ...record, scope, past: previousScopes(record, scope) };
  yield* updateDigest(record, -1);
  yield* putRecord(FEED_RECORDS, after);
  yield* updateDigest(after, 1);
}

function* scopeOf(
  { type, body, scope }: { type: string; body: RowBody; scope: string | null | undefined },
  kept: string | null,
  types: ReplicatedTypes,
): TransactionProgram<string | null> {
  if (scope !== undefined) return scope;
  const { isInDomains, references } = types.homeOf(type);
  return isInDomains || references.length > 0 ? yield* readRowScope(type, body, types) : kept;
}

/** A row without a scope was visible everywhere (`*`). */
function previousScopes(before: FeedRecord | null, scope: string | null): string[] {
  if (!before || before.scope === scope) return [...(before?.past ?? [])];
  return [...new Set([...before.past, before.scope ?? "*"])];
}

function* updateDigest({ type, id, seq, scope }: FeedRecord, by: 1 | -1): TransactionProgram<void> {
  const found = yield* getRecord(SCOPE_DIGESTS, type, scope ?? "");
  yield* putRecord(SCOPE_DIGESTS, {
    type,
    scope: scope ?? "",
    ...adjustDigest(found ?? EMPTY_DIGEST, rowVersionHash(type, id, seq), by),
  });
}

function* updateUniqueName(
  before: FeedRecord | null,
  after: FeedRecord,
  types: ReplicatedTypes,
): TransactionProgram<void> {
  const [old, now] = [uniqueNameOf(before, types), uniqueNameOf(after, types)];
  if (old !== null && old !== now) {
    const held = yield* getRecord(UNIQUE_NAMES, after.type, old);
    if (held?.id === after.id) yield* deleteRecord(UNIQUE_NAMES, after.type, old);
  }
  if (now !== null) yield* putRecord(UNIQUE_NAMES, { type: after.type, name: now, id: after.id });
}

function uniqueNameOf(row: FeedRecord | null, types: ReplicatedTypes): string | null {
  const field = row?.body ? types.nameField(row.type) : null;
  const name = field && row?.body?.[field];
  return typeof name === "string" ? name.toLowerCase() : null;
}

/** The body with a unique name: a taken one gets ` (site)`, then ` (site 2)` and so on. */
export function* withUniqueName(
  type: string,
  id: string,
  body: RowBody,
  types: ReplicatedTypes,
): TransactionProgram<RowBody> {
  const field = types.nameField(type);
  const wanted = field ? body[field] : null;
  if (!field || typeof wanted !== "string") return body;
  for (let attempt = 0; ; attempt += 1) {
    const name = attempt === 0 ? wanted : `${wanted} (site${attempt === 1 ? "" : ` ${attempt}`})`;
    const owner = yield* getRecord(UNIQUE_NAMES, type, name.toLowerCase());
    if (!owner || owner.id === id) return { ...body, [field]: name };
  }
}
