import { derivedId } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { filesInBody, requestFiles, SITE_FILE_REQUESTS } from "../files/file-requests.ts";
import type { DownstreamPage, DownstreamRow, SnapshotPage, SyncLimits } from "../protocol/frames.ts";
import { findMissingReferences, withoutReferences } from "../protocol/missing-references.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import {
  type ApplyResult,
  applyRows,
  deleteAllRecords,
  deleteRecord,
  getRecord,
  putRecord,
  type RowBody,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";
import { completeResyncCommands } from "./command-inbox.ts";
import { isHeldByInitialSync, releaseFromInitialSync } from "./initial-sync-report.ts";
import { applyCloudVersion, resolveEdits } from "./local-edits.ts";
import { type ActivityContext, incrementTally, recordCheckpointActivities, upsertActivity } from "./sync-activities.ts";
import { readSyncState } from "./sync-state.ts";
import {
  APPLIED_VERSIONS,
  type AppliedVersion,
  REFUSED_ROWS,
  type RefusedRowRecord,
  SHADOW_ROWS,
  STAGED_ROWS,
  type StagedRow,
  SYNC_STATE,
  type SyncState,
  type Tallies,
} from "./tables.ts";

/** Deletions are applied after all puts, dependents first. */
const REMOVAL_ORDER = 3000;
/** Rows that wait for others are applied after the others. */
const RETRY_ORDER = 1000;
/** Upper bound of all puts except the final attempt: the sweep of a resync runs here. */
const SWEEP_ORDER_LIMIT = REMOVAL_ORDER - RETRY_ORDER;
/**
 * Rows that still wait are tried again after the deletions, which may have freed their name; then the deletions that
 * still wait, because the last reference may have been removed.
 */
const FINAL_ORDER = 4000;
/** Attempts before a waiting row is refused. */
const MAX_WAITS = 10;
/** Attempts before a waiting row is written without its references to missing rows. */
const CIRCLE_WAITS = 3;

/** Result of a received page. */
export type StagedPageResult = "gap" | "staged" | "marked";

/** Stages a page; it becomes visible with its checkpoint. Nothing is stored if the page is out of sequence. */
export function* stagePage(page: DownstreamPage, types: ReplicatedTypes): TransactionProgram<StagedPageResult> {
  const link = yield* readSyncState();
  const isInSnapshot = link.snapshotHead !== null && link.snapshotEnded === 0;
  const { mark, to } = page;
  // A checkpoint without rows: only the results show that the one before it is missing.
  const hasGap = page.from !== link.received || (mark?.after ?? 0) > link.decided;
  if (hasGap || isInSnapshot || link.applyingCheckpoint) return "gap";
  yield* stageRows(page.rows, types);
  yield* putRecord(SYNC_STATE, {
    ...link,
    received: to,
    applyingCheckpoint: mark ? { to } : null,
    decided: mark?.decided ?? link.decided,
  });
  if (!mark) return "staged";
  yield* restageRefusedRows();
  const shadowed = yield* resolveEdits(mark.decided, mark.results);
  for (const { type, id, body } of shadowed) yield* restageShadowedRow(type, id, body, types);
  return "marked";
}

/** Stages a page of a snapshot. */
export function* stageSnapshotPage(page: SnapshotPage, types: ReplicatedTypes): TransactionProgram<StagedPageResult> {
  const link = yield* readSyncState();
  if (link.snapshotHead !== page.h0 || link.snapshotEnded === 1 || page.from !== link.snapshotAfter) return "gap";
  yield* stageRows(page.rows, types);
  const ended = page.end ? { snapshotEnded: 1, received: page.h0 } : {};
  yield* putRecord(SYNC_STATE, { ...link, snapshotAfter: page.after, ...ended });
  return "staged";
}

function* stageRows(rows: readonly DownstreamRow[], types: ReplicatedTypes): TransactionProgram<void> {
  for (const [op, type, id, seq, body] of rows) {
    const gone = op === "d" ? 1 : 0;
    const rank = gone ? REMOVAL_ORDER - types.dependencyRank(type) : types.dependencyRank(type);
    yield* putRecord(STAGED_ROWS, {
      type,
      id,
      seq,
      gone,
      body: gone ? null : (body ?? null),
      applyOrder: rank,
      waits: 0,
    });
    yield* requestFiles(SITE_FILE_REQUESTS, filesInBody(body, types.fileFields(type)), { holder: "", rank: 1 });
  }
}

/** Refused rows may be accepted now. */
function* restageRefusedRows(): TransactionProgram<void> {
  const isResync = (yield* readSyncState()).snapshotHead !== null;
  for (const { type, id, seq, body } of yield* scanRecords(REFUSED_ROWS, { limit: 100 })) {
    if (yield* getRecord(STAGED_ROWS, type, id)) continue;
    if (body && isResync) {
      // The cloud has deleted it.
      yield* deleteRecord(REFUSED_ROWS, type, id);
      continue;
    }
    yield* putRecord(STAGED_ROWS, { type, id, seq, gone: body ? 0 : 1, body, applyOrder: RETRY_ORDER, waits: 0 });
  }
}

/** Shows the cloud's version of a row whose edit was decided, unless a newer version was just received. */
function* restageShadowedRow(
  type: string,
  id: string,
  body: RowBody | null,
  types: ReplicatedTypes,
): TransactionProgram<void> {
  // A resync brings every row that still exists.
  if ((body && (yield* readSyncState()).snapshotHead !== null) || (yield* getRecord(STAGED_ROWS, type, id))) return;
  const applied = yield* getRecord(APPLIED_VERSIONS, type, id);
  // The cloud refused a row that this appliance brought: it stays until somebody has decided about it.
  if (!body && !applied && (yield* isHeldByInitialSync(type, id))) return;
  const seq = applied?.seq ?? 0;
  yield* stageRows([body ? ["p", type, id, seq, body] : ["d", type, id, seq]], types);
}

/** Starts or continues a resync. False if it does not continue at the stored position. */
export function* startSnapshot(
  resync: { h0: number; after: string | null },
  journal: ActivityContext,
): TransactionProgram<boolean> {
  const link = yield* readSyncState();
  if (resync.after !== null) return link.snapshotHead === resync.h0 && link.snapshotAfter === resync.after;
  yield* deleteAllRecords(STAGED_ROWS);
  yield* putRecord(SYNC_STATE, {
    ...link,
    snapshotHead: resync.h0,
    snapshotAfter: null,
    snapshotEnded: 0,
    resyncRequested: 0,
  });
  yield* recordResyncActivity(journal, link, "pending", { from: resync.h0 });
  return true;
}

function* recordResyncActivity(
  journal: ActivityContext,
  link: SyncState,
  state: "pending" | "success",
  details: RowBody,
): TransactionProgram<void> {
  const id = derivedId("resync", link.endpoint, String(link.incarnation), String(link.snapshotGeneration));
  yield* upsertActivity(journal, id, { type: "full-resync", state, severity: "warn", details });
}

/**
 * Applies the next rows of a complete checkpoint; after the last batch the appliance equals the cloud. The order
 * guarantees that no row refers to a missing one, also between batches. True when the checkpoint is done.
 */
export function* applyBatch(journal: ActivityContext, limits: SyncLimits): TransactionProgram<boolean> {
  const link = yield* readSyncState();
  if (!link.applyingCheckpoint) return true;
  const isResync = link.snapshotHead !== null;
  const tallies = { of: link.tallies };
  const limit = limits.applyBatchRows;
  let staged = yield* scanRecords(STAGED_ROWS, { by: "turn", limit, ...(isResync ? { upTo: SWEEP_ORDER_LIMIT } : {}) });
  const isSweepDue = isResync && staged.length === 0;
  if (isSweepDue) {
    if ((yield* sweepRemovedRows(link, limits, tallies, journal.types)) > 0) return yield* saveTallies(tallies.of);
    staged = yield* scanRecords(STAGED_ROWS, { by: "turn", limit });
  }
  for (const run of yield* groupIntoRuns(staged)) {
    if (run.isPlain && (yield* applyRun(run.rows, link, journal.types, tallies))) continue;
    for (const row of run.rows) yield* applyStagedRow(row, link, journal.types, tallies);
  }
  // A small checkpoint is completed in the same transaction.
  if ((yield* scanRecords(STAGED_ROWS, { limit: 1 })).length > 0 || (isResync && !isSweepDue))
    return yield* saveTallies(tallies.of);
  yield* finishCheckpoint(journal, tallies.of);
  return true;
}

/** Consecutive rows, and whether they can be written as they are. */
interface RowRun {
  isPlain: boolean;
  rows: StagedRow[];
}

/** Groups rows in order: plain new or newer versions together, rows that need special handling separately. */
function* groupIntoRuns(staged: readonly StagedRow[]): TransactionProgram<RowRun[]> {
  const hasShadows = (yield* scanRecords(SHADOW_ROWS, { limit: 1 })).length > 0;
  const hasRefused = (yield* scanRecords(REFUSED_ROWS, { limit: 1 })).length > 0;
  const runs: RowRun[] = [];
  for (const row of staged) {
    const { type, id } = row;
    const isPlain =
      row.gone === 0 &&
      row.waits === 0 &&
      row.body !== null &&
      !(hasShadows && (yield* getRecord(SHADOW_ROWS, type, id))) &&
      !(hasRefused && (yield* getRecord(REFUSED_ROWS, type, id)));
    const last = runs.at(-1);
    if (last?.isPlain === isPlain) last.rows.push(row);
    else runs.push({ isPlain, rows: [row] });
  }
  return runs;
}

/** Writes rows in bulk. False if one is refused or has to wait: then nothing is written. */
function* applyRun(
  rows: readonly StagedRow[],
  link: SyncState,
  types: ReplicatedTypes,
  tallies: { of: Tallies },
): TransactionProgram<boolean> {
  const isDone = yield* applyRows(rows.map(({ type, id, body }) => ({ type, id, body: body as RowBody })));
  if (!isDone) return false;
  const gen = link.snapshotHead === null ? link.snapshotGeneration : link.snapshotGeneration + 1;
  for (const { type, id, seq } of rows) {
    yield* deleteRecord(STAGED_ROWS, type, id);
    const known = yield* getRecord(APPLIED_VERSIONS, type, id);
    tallies.of = incrementTally(tallies.of, type, known ? "changed" : "made", id);
    yield* putRecord(APPLIED_VERSIONS, {
      type,
      id,
      seq,
      snapshotGeneration: gen,
      applyOrder: types.dependencyRank(type),
    });
  }
  return true;
}

function* saveTallies(tallies: Tallies): TransactionProgram<false> {
  yield* putRecord(SYNC_STATE, { ...(yield* readSyncState()), tallies });
  return false;
}

function* applyStagedRow(
  row: StagedRow,
  link: SyncState,
  types: ReplicatedTypes,
  tallies: { of: Tallies },
): TransactionProgram<void> {
  const { type, id, seq, gone, body } = row;
  const gen = link.snapshotHead === null ? link.snapshotGeneration : link.snapshotGeneration + 1;
  const applied = yield* applyCloudVersion(type, id, gone ? null : withTemporaryName(row, types));
  if (applied === "wait" && row.waits >= CIRCLE_WAITS) yield* applyWithoutMissing(row, types);
  if ((applied === "wait" || needsTemporaryName(row)) && row.waits < MAX_WAITS) {
    yield* putRecord(STAGED_ROWS, {
      ...row,
      applyOrder: row.waits === MAX_WAITS - 1 ? FINAL_ORDER + gone : RETRY_ORDER + row.waits,
      waits: row.waits + 1,
    });
    return;
  }
  yield* deleteRecord(STAGED_ROWS, type, id);
  const isAlreadyRefused = applied !== "done" && (yield* getRecord(REFUSED_ROWS, type, id))?.seq === seq;
  yield* recordRefusal({ type, id, seq, body: gone ? null : body }, applied, types);
  const done = gone ? "deleted" : (yield* getRecord(APPLIED_VERSIONS, type, id)) ? "changed" : "made";
  if (!isAlreadyRefused) tallies.of = incrementTally(tallies.of, type, applied === "done" ? done : "refused", id);
  if (gone) {
    yield* deleteRecord(APPLIED_VERSIONS, type, id);
    if (applied === "done") yield* releaseFromInitialSync(type, id);
  } else
    yield* putRecord(APPLIED_VERSIONS, {
      type,
      id,
      seq,
      snapshotGeneration: gen,
      applyOrder: types.dependencyRank(type),
    });
}

/** Rows that refer to each other in a circle would wait for each other: each is written once without the others. */
function* applyWithoutMissing({ type, id, body }: StagedRow, types: ReplicatedTypes): TransactionProgram<void> {
  if (!body) return;
  const missing = yield* findMissingReferences({ type, id, body }, types);
  if (missing.length > 0) yield* applyCloudVersion(type, id, withoutReferences(body, missing));
}

/** Rows that swap unique names would wait for each other: each is written once under a temporary name. */
function withTemporaryName(row: StagedRow, types: ReplicatedTypes): RowBody | null {
  const field = types.nameField(row.type);
  return field && row.body && needsTemporaryName(row) ? { ...row.body, [field]: row.id } : row.body;
}

function needsTemporaryName({ waits, gone }: StagedRow): boolean {
  return gone === 0 && waits === MAX_WAITS - 2;
}

/** After a snapshot: deletes rows that the cloud no longer has. Returns their number. */
function* sweepRemovedRows(
  link: SyncState,
  limits: SyncLimits,
  tallies: { of: Tallies },
  types: ReplicatedTypes,
): TransactionProgram<number> {
  const left = yield* scanRecords(APPLIED_VERSIONS, {
    by: "sweep",
    where: [link.snapshotGeneration],
    newestFirst: true,
    limit: limits.applyBatchRows,
  });
  for (const row of left) {
    const { type, id, seq } = row;
    // Earlier releases got such rows from the cloud, as those of alarms. They are this side's now.
    if (!types.cloudOwned.includes(type)) {
      yield* deleteRecord(APPLIED_VERSIONS, type, id);
      continue;
    }
    // Its staged version is applied after the sweep.
    if (yield* getRecord(STAGED_ROWS, type, id)) {
      yield* putRecord(APPLIED_VERSIONS, { ...row, snapshotGeneration: link.snapshotGeneration + 1 });
      continue;
    }
    if ((yield* applyCloudVersion(type, id, null)) === "done") {
      tallies.of = incrementTally(tallies.of, type, "deleted", id);
      yield* releaseFromInitialSync(type, id);
    } else
      yield* putRecord(STAGED_ROWS, {
        type,
        id,
        seq,
        gone: 1,
        body: null,
        applyOrder: FINAL_ORDER + 1,
        waits: MAX_WAITS,
      });
    yield* deleteRecord(APPLIED_VERSIONS, type, id);
  }
  return left.length;
}

/** Records a refused row, so that it stays visible to users. */
function* recordRefusal(
  row: Omit<RefusedRowRecord, "reason">,
  applied: ApplyResult,
  types: ReplicatedTypes,
): TransactionProgram<void> {
  if (applied === "done") return yield* deleteRecord(REFUSED_ROWS, row.type, row.id);
  const reason = applied === "wait" ? yield* explainWait(row, types) : applied.refused;
  yield* putRecord(REFUSED_ROWS, { ...row, reason });
}

function* explainWait(
  { type, id, body }: Pick<RefusedRowRecord, "type" | "id" | "body">,
  types: ReplicatedTypes,
): TransactionProgram<string> {
  if (!body) return sentence("sync.referenced-here");
  const [missing] = yield* findMissingReferences({ type, id, body }, types);
  if (missing) return sentence("sync.reference-missing", { name: missing.name, to: missing.to, id: missing.id });
  return sentence("sync.conflict-here");
}

function* finishCheckpoint(journal: ActivityContext, tallies: Tallies): TransactionProgram<void> {
  const link = yield* readSyncState();
  if (!link.applyingCheckpoint) return;
  const { to } = link.applyingCheckpoint;
  const snap =
    link.snapshotHead === null
      ? {}
      : { snapshotGeneration: link.snapshotGeneration + 1, snapshotHead: null, snapshotAfter: null, snapshotEnded: 0 };
  yield* putRecord(SYNC_STATE, { ...link, ...snap, applied: to, applyingCheckpoint: null, tallies: {} });
  yield* recordCheckpointActivities(journal, tallies, to);
  if (link.snapshotHead === null) return;
  yield* recordResyncActivity(journal, link, "success", { to });
  yield* completeResyncCommands(journal);
}

/** Applies the rows of some buckets of a type as of `at`. False if this appliance has another position by now. */
export function* applyRepair(
  { at, type, rows }: { at: number; type: string; rows: readonly DownstreamRow[] },
  isInBucket: (id: string) => boolean,
  journal: ActivityContext,
): TransactionProgram<boolean> {
  const link = yield* readSyncState();
  if (link.applied !== at || link.received !== at || link.applyingCheckpoint || link.snapshotHead !== null)
    return false;
  const there = new Set(rows.map(([, , id]) => id));
  const surplus = (yield* scanRecords(APPLIED_VERSIONS, { where: [type] })).filter(
    ({ id }) => isInBucket(id) && !there.has(id),
  );
  let tallies: Tallies = {};
  for (const { id } of surplus) {
    yield* applyCloudVersion(type, id, null);
    yield* deleteRecord(APPLIED_VERSIONS, type, id);
    yield* releaseFromInitialSync(type, id);
    tallies = incrementTally(tallies, type, "deleted", id);
  }
  for (const [, , id, seq, body] of rows) {
    const base: AppliedVersion = {
      type,
      id,
      seq,
      snapshotGeneration: link.snapshotGeneration,
      applyOrder: journal.types.dependencyRank(type),
    };
    const isDone = (yield* applyCloudVersion(type, id, body ?? null)) === "done";
    if (isDone) yield* putRecord(APPLIED_VERSIONS, base);
    tallies = incrementTally(tallies, type, isDone ? "changed" : "refused", id);
  }
  yield* recordCheckpointActivities(journal, tallies, at);
  return true;
}
