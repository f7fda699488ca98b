import { BugError } from "../../base/errors.ts";
import { EMPTY, hashOf, shifted } from "../digests.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { type Applied, applyRow, type Body, drop, get, put, type Work } from "../work.ts";
import { DIGESTS, type FeedRow, HEAD, type Head, NAMES, ROWS } from "./tables.ts";

/** A row as the cloud wants it; null deletes it. Children of a deleted row are deleted by whoever deletes it. */
export interface Publication {
  type: string;
  id: string;
  body: Body | null;
  /** The part of the organisation that it belongs to; null for all. Ignored for deletions. */
  scope: string | null;
  at: number;
}

/** Where the feed stands. Throws BugError before `prepareHub`. */
export function* head(): Work<Head> {
  const found = yield* get(HEAD, "head");
  if (!found) throw new BugError("the feed was never begun");
  return found;
}

/** Begins the feed of a new tenant. */
export function* prepareHub(epoch: string): Work<void> {
  if (!(yield* get(HEAD, "head"))) yield* put(HEAD, { id: "head", epoch, since: 0, seq: 0, floor: 0 });
}

/** Makes all appliances compare everything: after a restore of the cloud's database, or by order. */
export function* beginEpoch(epoch: string, now: number): Work<void> {
  yield* put(HEAD, { ...(yield* head()), epoch, since: now });
}

/**
 * The only way in which cloud-owned rows change: each gets the next number of the feed, in the transaction that writes
 * the row itself. Returns what became of each; a row that its table refuses is not published.
 */
export function* publish(rows: readonly Publication[], types: ReplicatedTypes): Work<Applied[]> {
  let { seq, ...rest } = yield* head();
  const applied: Applied[] = [];
  for (const row of rows) {
    const became = yield* applyRow(row.type, row.id, row.body);
    applied.push(became);
    if (became !== "done") continue;
    seq += 1;
    yield* enter(row, seq, types);
  }
  yield* put(HEAD, { ...rest, seq });
  return applied;
}

/** As `publish`, for rows that this transaction has written already. */
export function* publishWritten(rows: readonly Publication[], types: ReplicatedTypes): Work<void> {
  let { seq, ...rest } = yield* head();
  for (const row of rows) {
    seq += 1;
    yield* enter(row, seq, types);
  }
  yield* put(HEAD, { ...rest, seq });
}

function* enter({ type, id, body, scope, at }: Publication, seq: number, types: ReplicatedTypes): Work<void> {
  const before = yield* get(ROWS, type, id);
  if (before && !before.gone) yield* count(before, -1);
  const home = body ? scope : (before?.scope ?? null);
  const after: FeedRow = { type, id, seq, gone: body ? 0 : 1, scope: home, past: pastOf(before, home), body, at };
  yield* takeName(before, after, types);
  yield* put(ROWS, after);
  if (body) yield* count(after, 1);
}

/** Rows that were for all were everywhere. */
function pastOf(before: FeedRow | null, scope: string | null): string[] {
  if (!before || before.scope === scope) return [...(before?.past ?? [])];
  return [...new Set([...before.past, before.scope ?? "*"])];
}

function* count({ type, id, seq, scope }: FeedRow, by: 1 | -1): Work<void> {
  const found = yield* get(DIGESTS, type, scope ?? "");
  yield* put(DIGESTS, { type, scope: scope ?? "", ...shifted(found ?? EMPTY, hashOf(type, id, seq), by) });
}

function* takeName(before: FeedRow | null, after: FeedRow, types: ReplicatedTypes): Work<void> {
  const [old, now] = [nameOf(before, types), nameOf(after, types)];
  if (old !== null && old !== now) {
    const held = yield* get(NAMES, after.type, old);
    if (held?.id === after.id) yield* drop(NAMES, after.type, old);
  }
  if (now !== null) yield* put(NAMES, { type: after.type, name: now, id: after.id });
}

function nameOf(row: FeedRow | null, types: ReplicatedTypes): string | null {
  const field = row?.body ? types.nameField(row.type) : null;
  const name = field && row?.body?.[field];
  return typeof name === "string" ? name.toLowerCase() : null;
}

/** The body under a name that is free: one that is taken gets ` (site)`, then ` (site 2)` and so on. */
export function* withFreeName(type: string, id: string, body: Body, types: ReplicatedTypes): Work<Body> {
  const field = types.nameField(type);
  const wanted = field ? body[field] : null;
  if (!field || typeof wanted !== "string") return body;
  for (let turn = 0; ; turn += 1) {
    const name = turn === 0 ? wanted : `${wanted} (site${turn === 1 ? "" : ` ${turn}`})`;
    const taken = yield* get(NAMES, type, name.toLowerCase());
    if (!taken || taken.id === id) return { ...body, [field]: name };
  }
}
