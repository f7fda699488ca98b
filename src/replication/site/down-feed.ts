import { derivedId } from "../../base/ids.ts";
import type { DownPage, DownRow, Limits, SnapPage } from "../frames.ts";
import type { ReplicatedTypes } from "../replicated-types.ts";
import { filesIn, SITE_FILES, wantFiles } from "../wanted-files.ts";
import { type Applied, applyRows, type Body, clear, drop, get, put, scan, type Work } from "../work.ts";
import { counted, type Journal, tellMark, tellOf } from "./activities.ts";
import { settleEdits, showBase } from "./edits.ts";
import { endResyncOrders } from "./inbox.ts";
import { linkState } from "./link-state.ts";
import {
  BASE,
  type BaseRow,
  LINK,
  type LinkState,
  PARKED,
  type Parked,
  SHADOW,
  STAGE,
  type Staged,
  type Tallies,
} from "./tables.ts";

/** Removals come after all that is put, what refers to others first. */
const REMOVALS_FROM = 3000;
/** Rows that wait for others come after the others. */
const WAITING_FROM = 1000;
/** All that is put stands at most here, but for the last try: a resync sweeps before what comes after. */
const WAITED = REMOVALS_FROM - WAITING_FROM;
/**
 * What still waits is tried once more after the removals, which may have freed its name; then the removals that still
 * wait, as a row may have come that does not refer to them any more.
 */
const LAST = 4000;
/** So often a row may wait for one that it refers to; then it is refused. */
const MOST_WAITS = 10;

/** What a frame of the cloud's feed led to. */
export type Taken = "gap" | "staged" | "marked";

/** Stores a page; it is not to be seen before its mark. Nothing is stored when the page does not follow on. */
export function* receivePage(page: DownPage, types: ReplicatedTypes): Work<Taken> {
  const link = yield* linkState();
  const isSnapping = link.snapTo !== null && link.snapEnded === 0;
  const { mark, to } = page;
  // A mark without rows has nothing else that would show that the one before it is missing.
  const hasGap = page.from !== link.recv || (mark?.after ?? 0) > link.decided;
  if (hasGap || isSnapping || link.marking) return "gap";
  yield* stage(page.rows, types);
  yield* put(LINK, { ...link, recv: to, marking: mark ? { to } : null, decided: mark?.decided ?? link.decided });
  if (!mark) return "staged";
  yield* stageParked();
  const covered = yield* settleEdits(mark.decided, mark.results);
  for (const { type, id, body } of covered) yield* stageCovered(type, id, body, types);
  return "marked";
}

/** Stores a page of a snapshot. */
export function* receiveSnapPage(page: SnapPage, types: ReplicatedTypes): Work<Taken> {
  const link = yield* linkState();
  if (link.snapTo !== page.h0 || link.snapEnded === 1 || page.from !== link.snapAfter) return "gap";
  yield* stage(page.rows, types);
  const ended = page.end ? { snapEnded: 1, recv: page.h0 } : {};
  yield* put(LINK, { ...link, snapAfter: page.after, ...ended });
  return "staged";
}

function* stage(rows: readonly DownRow[], types: ReplicatedTypes): Work<void> {
  for (const [op, type, id, seq, body] of rows) {
    const gone = op === "d" ? 1 : 0;
    const rank = gone ? REMOVALS_FROM - types.rankOf(type) : types.rankOf(type);
    yield* put(STAGE, { type, id, seq, gone, body: gone ? null : (body ?? null), rank, waits: 0 });
    yield* wantFiles(SITE_FILES, filesIn(body, types.filesOf(type)), { holder: "", rank: 1 });
  }
}

/** What was refused before may pass now. */
function* stageParked(): Work<void> {
  const isResync = (yield* linkState()).snapTo !== null;
  for (const { type, id, seq, body } of yield* scan(PARKED, { limit: 100 })) {
    if (yield* get(STAGE, type, id)) continue;
    if (body && isResync) {
      // It is not in the cloud any more.
      yield* drop(PARKED, type, id);
      continue;
    }
    yield* put(STAGE, { type, id, seq, gone: body ? 0 : 1, body, rank: WAITING_FROM, waits: 0 });
  }
}

/** An edit was decided: what was below it is shown again, unless a newer version just came. */
function* stageCovered(type: string, id: string, body: Body | null, types: ReplicatedTypes): Work<void> {
  // A resync brings every row that there still is.
  if ((body && (yield* linkState()).snapTo !== null) || (yield* get(STAGE, type, id))) return;
  const seq = (yield* get(BASE, type, id))?.seq ?? 0;
  yield* stage([body ? ["p", type, id, seq, body] : ["d", type, id, seq]], types);
}

/** Begins a resync, or goes on with it. False when it does not follow on from what is stored. */
export function* beginSnapshot(resync: { h0: number; after: string | null }, journal: Journal): Work<boolean> {
  const link = yield* linkState();
  if (resync.after !== null) return link.snapTo === resync.h0 && link.snapAfter === resync.after;
  yield* clear(STAGE);
  yield* put(LINK, { ...link, snapTo: resync.h0, snapAfter: null, snapEnded: 0, fresh: 0 });
  yield* tellResync(journal, link, "pending", { from: resync.h0 });
  return true;
}

function* tellResync(journal: Journal, link: LinkState, state: "pending" | "success", more: Body): Work<void> {
  const id = derivedId("resync", link.endpoint, String(link.inc), String(link.gen));
  yield* tellOf(journal, id, { type: "full-resync", state, severity: "warn", more });
}

/**
 * Applies the next rows of a mark that arrived; the last slice makes the appliance equal to the cloud. The order lets no
 * row refer to one that is not there, also between slices. True when the mark is done.
 */
export function* applySlice(journal: Journal, limits: Limits): Work<boolean> {
  const link = yield* linkState();
  if (!link.marking) return true;
  const isResync = link.snapTo !== null;
  const tallies = { of: link.tallies };
  const limit = limits.sliceRows;
  let staged = yield* scan(STAGE, { by: "turn", limit, ...(isResync ? { upTo: WAITED } : {}) });
  const isSweepDue = isResync && staged.length === 0;
  if (isSweepDue) {
    if ((yield* sweep(link, limits, tallies)) > 0) return yield* keepTallies(tallies.of);
    staged = yield* scan(STAGE, { by: "turn", limit });
  }
  for (const run of yield* runsOf(staged)) {
    if (run.isPlain && (yield* applyPlain(run.rows, link, journal.types, tallies))) continue;
    for (const row of run.rows) yield* applyStaged(row, link, journal.types, tallies);
  }
  // A small mark is one transaction with its end.
  if ((yield* scan(STAGE, { limit: 1 })).length > 0 || (isResync && !isSweepDue)) return yield* keepTallies(tallies.of);
  yield* finishMark(journal, tallies.of);
  return true;
}

/** Rows that follow each other, and whether they are to be written just as they came. */
interface Run {
  isPlain: boolean;
  rows: Staged[];
}

/** Rows in order: those that are new or newer and nothing else, together; what needs care by itself. */
function* runsOf(staged: readonly Staged[]): Work<Run[]> {
  const hasShadows = (yield* scan(SHADOW, { limit: 1 })).length > 0;
  const hasParked = (yield* scan(PARKED, { limit: 1 })).length > 0;
  const runs: Run[] = [];
  for (const row of staged) {
    const { type, id } = row;
    const isPlain =
      row.gone === 0 &&
      row.waits === 0 &&
      row.body !== null &&
      !(hasShadows && (yield* get(SHADOW, type, id))) &&
      !(hasParked && (yield* get(PARKED, type, id)));
    const last = runs.at(-1);
    if (last?.isPlain === isPlain) last.rows.push(row);
    else runs.push({ isPlain, rows: [row] });
  }
  return runs;
}

/** Writes rows together. False when one of them is refused or has to wait: then nothing was written. */
function* applyPlain(
  rows: readonly Staged[],
  link: LinkState,
  types: ReplicatedTypes,
  tallies: { of: Tallies },
): Work<boolean> {
  const isDone = yield* applyRows(rows.map(({ type, id, body }) => ({ type, id, body: body as Body })));
  if (!isDone) return false;
  const gen = link.snapTo === null ? link.gen : link.gen + 1;
  for (const { type, id, seq } of rows) {
    yield* drop(STAGE, type, id);
    const known = yield* get(BASE, type, id);
    tallies.of = counted(tallies.of, type, known ? "changed" : "made");
    yield* put(BASE, { type, id, seq, gen, rank: types.rankOf(type) });
  }
  return true;
}

function* keepTallies(tallies: Tallies): Work<false> {
  yield* put(LINK, { ...(yield* linkState()), tallies });
  return false;
}

function* applyStaged(row: Staged, link: LinkState, types: ReplicatedTypes, tallies: { of: Tallies }): Work<void> {
  const { type, id, seq, gone, body } = row;
  const gen = link.snapTo === null ? link.gen : link.gen + 1;
  const applied = yield* showBase(type, id, gone ? null : forNow(row, types));
  if ((applied === "wait" || isForNow(row)) && row.waits < MOST_WAITS) {
    yield* put(STAGE, {
      ...row,
      rank: row.waits === MOST_WAITS - 1 ? LAST + gone : WAITING_FROM + row.waits,
      waits: row.waits + 1,
    });
    return;
  }
  yield* drop(STAGE, type, id);
  const isToldAsRefused = applied !== "done" && (yield* get(PARKED, type, id))?.seq === seq;
  yield* parkUnlessDone({ type, id, seq, body: gone ? null : body }, applied);
  const done = gone ? "deleted" : (yield* get(BASE, type, id)) ? "changed" : "made";
  if (!isToldAsRefused) tallies.of = counted(tallies.of, type, applied === "done" ? done : "refused");
  if (gone) yield* drop(BASE, type, id);
  else yield* put(BASE, { type, id, seq, gen, rank: types.rankOf(type) });
}

/** Rows that swap their names would wait for each other: once, each is written under a name that nobody has. */
function forNow(row: Staged, types: ReplicatedTypes): Body | null {
  const field = types.nameField(row.type);
  return field && row.body && isForNow(row) ? { ...row.body, [field]: row.id } : row.body;
}

function isForNow({ waits, gone }: Staged): boolean {
  return gone === 0 && waits === MOST_WAITS - 2;
}

/** After a snapshot: removes rows that the cloud no longer has. Returns how many. */
function* sweep(link: LinkState, limits: Limits, tallies: { of: Tallies }): Work<number> {
  const left = yield* scan(BASE, { by: "sweep", where: [link.gen], newestFirst: true, limit: limits.sliceRows });
  for (const row of left) {
    const { type, id, seq } = row;
    // What came of it has its turn after the sweep.
    if (yield* get(STAGE, type, id)) {
      yield* put(BASE, { ...row, gen: link.gen + 1 });
      continue;
    }
    if ((yield* showBase(type, id, null)) === "done") tallies.of = counted(tallies.of, type, "deleted");
    else yield* put(STAGE, { type, id, seq, gone: 1, body: null, rank: LAST + 1, waits: MOST_WAITS });
    yield* drop(BASE, type, id);
  }
  return left.length;
}

/** A row that its table refuses is passed over, and stays in view as such. */
function* parkUnlessDone(row: Omit<Parked, "reason">, applied: Applied): Work<void> {
  if (applied === "done") return yield* drop(PARKED, row.type, row.id);
  const waited = row.body ? "It refers to something that is not there." : "Something here refers to it.";
  yield* put(PARKED, { ...row, reason: applied === "wait" ? waited : applied.refused });
}

function* finishMark(journal: Journal, tallies: Tallies): Work<void> {
  const link = yield* linkState();
  if (!link.marking) return;
  const { to } = link.marking;
  const snap = link.snapTo === null ? {} : { gen: link.gen + 1, snapTo: null, snapAfter: null, snapEnded: 0 };
  yield* put(LINK, { ...link, ...snap, applied: to, marking: null, tallies: {} });
  yield* tellMark(journal, tallies, to);
  if (link.snapTo === null) return;
  yield* tellResync(journal, link, "success", { to });
  yield* endResyncOrders(journal);
}

/** Rows of some parts of a type, as the cloud has them at `at`. False when this appliance stands elsewhere by now. */
export function* repair(
  { at, type, rows }: { at: number; type: string; rows: readonly DownRow[] },
  isInPart: (id: string) => boolean,
  journal: Journal,
): Work<boolean> {
  const link = yield* linkState();
  if (link.applied !== at || link.recv !== at || link.marking || link.snapTo !== null) return false;
  const there = new Set(rows.map(([, , id]) => id));
  const surplus = (yield* scan(BASE, { where: [type] })).filter(({ id }) => isInPart(id) && !there.has(id));
  let tallies: Tallies = {};
  for (const { id } of surplus) {
    yield* showBase(type, id, null);
    yield* drop(BASE, type, id);
    tallies = counted(tallies, type, "deleted");
  }
  for (const [, , id, seq, body] of rows) {
    const base: BaseRow = { type, id, seq, gen: link.gen, rank: journal.types.rankOf(type) };
    const isDone = (yield* showBase(type, id, body ?? null)) === "done";
    if (isDone) yield* put(BASE, base);
    tallies = counted(tallies, type, isDone ? "changed" : "refused");
  }
  yield* tellMark(journal, tallies, at);
  return true;
}
