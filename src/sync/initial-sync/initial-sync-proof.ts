import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { UpstreamError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { type Catalogue, tableName } from "../../schema/catalogue.ts";
import type { StoreReader } from "../../store/store.ts";
import {
  comparedFields,
  createInventory,
  fieldHashes,
  type InventoryRow,
  type RowInventory,
  unequalBuckets,
} from "../protocol/content-digests.ts";
import type { ControlRequest } from "../protocol/control-messages.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { bucketIndex } from "../protocol/row-digests.ts";
import {
  INITIAL_SYNC_REPORT,
  INITIAL_SYNC_ROWS,
  type InitialSyncDifference,
  type InitialSyncReport,
  type InitialSyncRow,
  type InitialSyncType,
  readInitialSyncReport,
} from "../site/initial-sync-report.ts";
import { recordLocalWrite } from "../site/local-writes.ts";
import { readSyncState } from "../site/sync-state.ts";
import { APPLIED_VERSIONS, LOCAL_EDITS, type LocalEditRecord, REFUSED_ROWS, SHADOW_ROWS } from "../site/tables.ts";
import {
  deleteAllRecords,
  getRecord,
  putRecord,
  type RowBody,
  readProductRow,
  scanRecords,
  type TransactionProgram,
  type TransactionStore,
} from "../storage/transaction-program.ts";

export interface InitialSyncProofDeps {
  store: TransactionStore;
  reader: StoreReader;
  catalogue: Catalogue;
  types: ReplicatedTypes;
  clock: Clock;
  newId(): string;
  /** Asks the cloud; null if there is no link. Rejects with UpstreamError. */
  ask(request: ControlRequest & { kind: "inventory" }): Promise<RowBody | null>;
  /** The first sync has ended, or rows differ. */
  onChanged(report: InitialSyncReport): void;
  onFault(error: unknown): void;
}

/** Compares both sides until the first sync is proven to have lost nothing. */
export interface InitialSyncProof {
  /** Compares soon, unless the first sync is proven. */
  check(): void;
  /** The cloud's decision is asked for again, for rows that it refused. Returns their number. */
  retry(): Promise<number>;
  /** Ends the first sync although rows differ; these stay as they are. */
  accept(): Promise<void>;
  stop(): void;
}

/** Rows that are read in one turn of the event loop. @source docs/decisions/0651-proof-of-the-initial-sync.md */
const ROWS_PER_READ = 40;
/** Rows that are listed in the report. */
const MAX_DIFFERENCES = 50;
/** Buckets whose rows are asked for, of all types together: each takes a pass over its type in the cloud. */
const MAX_BUCKETS = 20;
/** Between two comparisons, at least. */
const MIN_INTERVAL_MS = 5_000;

/** What a comparison found, so far. */
interface Comparison {
  types: InitialSyncType[];
  differences: InitialSyncDifference[];
  more: number;
  waitsFor: string | null;
  /** The cloud has not seen all rows yet. */
  isUndecided: boolean;
  bucketsLeft: number;
}

export function createInitialSyncProof(deps: InitialSyncProofDeps): InitialSyncProof {
  const { store, catalogue, types, clock } = deps;
  let isStopped = false;
  let isRunning = false;
  let isWanted = false;

  function check(): void {
    isWanted = true;
    if (isRunning || isStopped) return;
    isRunning = true;
    run()
      .catch((error: unknown) => isStopped || deps.onFault(error))
      .finally(() => {
        isRunning = false;
      });
  }

  async function run(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false;
      const found = await store.read(() => getRecord(INITIAL_SYNC_REPORT, "report"));
      if (!found || found.isOpen === 0) return;
      await compare(found.report).catch((error: unknown) => {
        // Without an answer the next connection or checkpoint starts another comparison.
        if (!(error instanceof UpstreamError)) throw error;
      });
      await new Promise<void>((over) => clock.after(MIN_INTERVAL_MS, over, { background: true }));
    }
  }

  async function compare(report: InitialSyncReport): Promise<void> {
    if (!(await store.read(isSettled))) return;
    const found: Comparison = {
      ...{ types: [], differences: [], more: 0, waitsFor: null, isUndecided: false },
      bucketsLeft: MAX_BUCKETS,
    };
    await checkOwnRows(report, found);
    for (const type of types.cloudOwned) {
      if (isStopped || !(await compareType(type, report, found))) return;
    }
    await conclude(report, found);
  }

  /** Rows that this appliance had are still here and, if it adopts the organisation, in the cloud. */
  async function checkOwnRows({ mode }: InitialSyncReport, found: Comparison): Promise<void> {
    for (const type of types.cloudOwned) {
      for await (const { id } of initialRows(type)) {
        const state = await store.read(() => stateOf(type, id));
        if (!state.isHere) {
          add(found, { type, id, kind: "lost", reason: sentence("sync.row-lost") });
        } else if (mode === "adopt" && !state.isInCloud) {
          if (state.edit?.state === "pending") {
            found.isUndecided ||= !state.isDecided;
            found.waitsFor ??= await explain(type, id);
          } else add(found, { type, id, kind: "only-here", reason: state.edit?.reason ?? NEVER_ACCEPTED });
        }
      }
    }
  }

  /** Why a row is not in the cloud yet. */
  async function explain(type: string, id: string): Promise<string> {
    const awaited = await store.read(() => findAwaitedRow(type, id, types));
    const row = labelOf(type, id);
    return awaited
      ? sentence("sync.waits-for-reference", { row, other: labelOf(awaited.type, awaited.id) })
      : sentence("sync.waits-for-row", { row });
  }

  /** False without an answer of the cloud. */
  async function compareType(type: string, report: InitialSyncReport, found: Comparison): Promise<boolean> {
    const fields = comparedFields(catalogue.byName(type), types);
    const asked = { kind: "inventory", type, fields } as const;
    const ours = createInventory(type);
    for await (const { id, seq, hashes } of appliedRows(type, fields)) ours.add(id, seq, hashes);
    const here = ours.result();
    const theirs = (await deps.ask({ ...asked, bucket: null })) as unknown as RowInventory | null;
    if (!theirs) return false;
    const isSameVersion = here.versions.count === theirs.versions.count && here.versions.sum === theirs.versions.sum;
    const unequal = isSameVersion ? unequalBuckets(here, theirs) : [];
    const before = report.types.find((each) => each.type === type);
    found.types.push({
      type,
      before: before?.before ?? { count: 0, sum: 0 },
      cloudBefore: before?.cloudBefore ?? null,
      here: { count: here.versions.count, sum: contentSum(here) },
      cloud: { count: theirs.versions.count, sum: contentSum(theirs) },
      isEqual: isSameVersion && unequal.length === 0,
    });
    if (!isSameVersion) found.waitsFor ??= sentence("sync.waits-for-newest", { type });
    for (const bucket of unequal) {
      if (found.bucketsLeft-- <= 0) found.more += 1;
      else {
        const given = await deps.ask({ ...asked, bucket });
        if (!given) return false;
        await compareBucket(type, bucket, given.rows as unknown as readonly InventoryRow[], found);
      }
    }
    return true;
  }

  async function compareBucket(
    type: string,
    bucket: number,
    theirs: readonly InventoryRow[],
    found: Comparison,
  ): Promise<void> {
    const there = new Map(theirs.map((row) => [row[0], row]));
    const fields = comparedFields(catalogue.byName(type), types);
    for await (const { id, seq, hashes } of appliedRows(type, fields)) {
      if (bucketIndex(id) !== bucket) continue;
      const row = there.get(id);
      there.delete(id);
      // It has changed since the digests were taken.
      if (!row || row[1] !== seq) continue;
      const unequal = fields.filter((name) => hashes?.[name] !== row[2]?.[name]);
      const refused = await store.read(() => getRecord(REFUSED_ROWS, type, id));
      const kind = hashes === null ? "only-cloud" : "unequal";
      if (unequal.length > 0)
        add(found, { type, id, kind, fields: kind === "unequal" ? unequal : [], reason: refused?.reason ?? null });
    }
  }

  function add(
    found: Comparison,
    { fields = [], ...difference }: Omit<InitialSyncDifference, "name" | "fields"> & { fields?: readonly string[] },
  ): void {
    const { type, id } = difference;
    if (found.differences.some((each) => each.type === type && each.id === id)) return;
    if (found.differences.length < MAX_DIFFERENCES)
      found.differences.push({ ...difference, fields, name: nameOf(type, id) });
    else found.more += 1;
  }

  async function conclude(report: InitialSyncReport, found: Comparison): Promise<void> {
    const { differences, more, waitsFor, isUndecided } = found;
    const isEqual = differences.length + more === 0;
    const state = isUndecided || (isEqual && waitsFor !== null) ? "running" : isEqual ? "complete" : "differs";
    const next: InitialSyncReport = {
      ...report,
      ...{ state, differences, more, waitsFor: state === "complete" ? null : waitsFor },
      ...{ checkedAt: clock.now(), finishedAt: state === "complete" ? clock.now() : null },
      types: found.types.filter(
        ({ before, here, cloud }) => before.count + (here?.count ?? 0) + (cloud?.count ?? 0) > 0,
      ),
    };
    const isSaved = await store.transact(() => saveReport(next));
    if (isSaved && next.state !== report.state) deps.onChanged(next);
  }

  async function* initialRows(type: string): AsyncGenerator<InitialSyncRow> {
    for (let after = ""; ; await yieldToEventLoop(clock)) {
      const from = after;
      const rows = await store.read(() =>
        scanRecords(INITIAL_SYNC_ROWS, { where: [type], after: from, limit: ROWS_PER_READ }),
      );
      yield* rows;
      if (rows.length < ROWS_PER_READ) return;
      after = rows.at(-1)?.id ?? "";
    }
  }

  async function* appliedRows(
    type: string,
    fields: readonly string[],
  ): AsyncGenerator<{ id: string; seq: number; hashes: Readonly<Record<string, string>> | null }> {
    const idLists = types.idListFields(type);
    for (let after = ""; ; await yieldToEventLoop(clock)) {
      const from = after;
      const rows = await store.read(() => readAppliedRows(type, from));
      for (const { id, seq, body } of rows) yield { id, seq, hashes: fieldHashes(body, fields, idLists) };
      if (rows.length < ROWS_PER_READ) return;
      after = rows.at(-1)?.id ?? "";
    }
  }

  const nameOf = (type: string, id: string): string | null => {
    const resource = catalogue.byName(type);
    if (resource.fields.name?.kind !== "text") return null;
    const sql = `SELECT name FROM ${tableName(resource)} WHERE id = ?`;
    return deps.reader.one<{ name: string | null }>(sql, id)?.name ?? null;
  };
  const labelOf = (type: string, id: string): string => {
    const name = nameOf(type, id);
    return name === null ? `${type} ${id}` : `${type} "${name}"`;
  };

  return {
    check,
    async retry() {
      let sent = 0;
      for (const type of types.cloudOwned) {
        for await (const { id } of initialRows(type)) {
          const isSent = await store.transact(() => sendAgain(type, id));
          if (isSent) sent += 1;
        }
      }
      check();
      return sent;
    },
    async accept() {
      await store.transact(function* () {
        const report = yield* readInitialSyncReport();
        if (report) yield* saveReport({ ...report, state: "accepted", finishedAt: clock.now(), waitsFor: null });
      });
    },
    stop() {
      isStopped = true;
    },
  };

  /** Sends a row that the cloud refused as a new one. */
  function* sendAgain(type: string, id: string): TransactionProgram<boolean> {
    const { isHere, isInCloud, edit } = yield* stateOf(type, id);
    if (!isHere || isInCloud || !edit || edit.state === "pending") return false;
    const after = yield* readProductRow(type, id);
    if (!after) return false;
    const write = { before: null, after, type, id, actor: "enrolment", at: clock.now(), newId: deps.newId };
    yield* recordLocalWrite(write, types);
    return true;
  }
}

const NEVER_ACCEPTED = sentence("sync.never-accepted");

/** No row of the cloud is on its way to its table. */
function* isSettled(): TransactionProgram<boolean> {
  const { applied, received, applyingCheckpoint, snapshotHead } = yield* readSyncState();
  return applied > 0 && applied === received && applyingCheckpoint === null && snapshotHead === null;
}

function* stateOf(
  type: string,
  id: string,
): TransactionProgram<{
  isHere: boolean;
  isInCloud: boolean;
  /** The cloud has seen its last edit. */
  isDecided: boolean;
  edit: LocalEditRecord | undefined;
}> {
  const edits = yield* scanRecords(LOCAL_EDITS, { by: "row", where: [type, id] });
  const edit = edits.sort((a, b) => a.sequence - b.sequence).at(-1);
  const { decided } = yield* readSyncState();
  return {
    isHere: (yield* readProductRow(type, id)) !== null,
    isInCloud: (yield* getRecord(APPLIED_VERSIONS, type, id)) !== null,
    isDecided: edit === undefined || edit.sequence <= decided,
    edit,
  };
}

/** A row that this one refers to and that the cloud does not have. */
function* findAwaitedRow(
  type: string,
  id: string,
  types: ReplicatedTypes,
): TransactionProgram<{ type: string; id: string } | null> {
  const body = (yield* readProductRow(type, id)) ?? {};
  for (const { name, to } of types.references(type)) {
    // Both sides have these from the beginning.
    if (types.replicationClass(to) === "local") continue;
    for (const target of [body[name] ?? []].flat()) {
      if (typeof target !== "string" || (to === type && target === id)) continue;
      if (!(yield* getRecord(APPLIED_VERSIONS, to, target))) return { type: to, id: target };
    }
  }
  return null;
}

/** Rows of the cloud as they are here, without local edits that it has not decided about. */
function* readAppliedRows(
  type: string,
  after: string,
): TransactionProgram<{ id: string; seq: number; body: RowBody | null }[]> {
  const rows: { id: string; seq: number; body: RowBody | null }[] = [];
  for (const { id, seq } of yield* scanRecords(APPLIED_VERSIONS, { where: [type], after, limit: ROWS_PER_READ })) {
    const shadow = yield* getRecord(SHADOW_ROWS, type, id);
    rows.push({ id, seq, body: shadow ? shadow.body : yield* readProductRow(type, id) });
  }
  return rows;
}

/** False if it was ended before. The list of rows is not needed any more once it is proven. */
function* saveReport(report: InitialSyncReport): TransactionProgram<boolean> {
  const found = yield* getRecord(INITIAL_SYNC_REPORT, "report");
  if (found?.isOpen !== 1) return false;
  const isOpen = report.state === "complete" || report.state === "accepted" ? 0 : 1;
  yield* putRecord(INITIAL_SYNC_REPORT, { id: "report", isOpen, report });
  if (isOpen === 0) yield* deleteAllRecords(INITIAL_SYNC_ROWS);
  return true;
}

function contentSum({ buckets }: RowInventory): number {
  return buckets.reduce((sum, [, , part]) => (sum + part) % 2 ** 48, 0);
}
