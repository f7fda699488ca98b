import { type Clock, yieldToEventLoop } from "../../lib/clock.ts";
import { newId } from "../../lib/ids.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import userTokens from "../../resources/people/user-tokens.ts";
import { type Catalogue, tableName } from "../../schema/catalogue.ts";
import type { InternalTable, Store, StoreReader, Transaction } from "../../store/store.ts";
import { applyEdit } from "../protocol/field-merge.ts";
import { isReplicated, replicatedBody } from "../protocol/replicated-body.ts";
import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
import { rowVersionHash, sumDigests } from "../protocol/row-digests.ts";
import {
  INITIAL_SYNC_REPORT,
  INITIAL_SYNC_ROWS,
  type InitialSyncReport,
  readInitialSyncReport,
} from "../site/initial-sync-report.ts";
import { recordLocalWrite } from "../site/local-writes.ts";
import { startStateResend } from "../site/state-resend.ts";
import { readSyncState } from "../site/sync-state.ts";
import { LOCAL_EDITS } from "../site/tables.ts";
import type { SqliteProgramRunner } from "../storage/sqlite-program-runner.ts";
import {
  deleteRecord,
  putRecord,
  type RowBody,
  scanRecords,
  type TransactionProgram,
} from "../storage/transaction-program.ts";
import {
  alignAdministratorIds,
  alignPeopleIds,
  alignSingletonIds,
  alignSubscriberIds,
  type EnrolMode,
  type OrganisationBaseline,
} from "./organisation-baseline.ts";
import { renameAndDisable } from "./rename-conflicting-rows.ts";

/** Progress as record 0, then chunks of the organisation's lists to process; and the ids that both sides have. */
export const INITIAL_SYNC_TABLES: readonly InternalTable[] = [
  {
    name: "initial_sync_jobs",
    sql: "CREATE TABLE IF NOT EXISTS initial_sync_jobs (at INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;",
  },
  {
    name: "initial_sync_shared_ids",
    sql: "CREATE TABLE IF NOT EXISTS initial_sync_shared_ids (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;",
  },
];

export interface InitialSyncDeps {
  store: Store;
  catalogue: Catalogue;
  clock: Clock;
  types: ReplicatedTypes;
  runner: Pick<SqliteProgramRunner, "runWithin">;
}

/** Brings an appliance's rows into an organisation, in batches, across restarts. */
export interface InitialSync {
  /** Whether the job is not finished; cheap. */
  isPending(): boolean;
  /** Stores the job, as the last step of a first enrolment. `first` runs in the same transaction. */
  schedule(baseline: OrganisationBaseline, mode: EnrolMode, first: (tx: Transaction) => void): Promise<void>;
  /** Runs the job; true when it is finished, false if it was stopped. */
  run(): Promise<boolean>;
  /** Deletes the job. */
  discard(tx: Transaction): void;
  stop(): void;
}

interface InitialSyncJob {
  mode: EnrolMode;
  /** Index of the resource in progress, and the internal key of its last processed row. */
  kind: number;
  after: number;
  /** Changes were processed up to this number. */
  seen: number;
  /** Where the list of the own rows continues; null once it is complete. Jobs of earlier releases have none. */
  listing?: { kind: number; after: number } | null;
}

type BaselinePart = Partial<Pick<OrganisationBaseline, "people" | "administrators" | "subscribers">>;

/** Longest transaction. @source docs/decisions/0017-store.md */
const BATCH_MS = 4;
/** Lines of a list per chunk. @source docs/decisions/0300-sync-limits.md */
const LINES_PER_PART = 150;
/** Chunks stored per transaction. */
const PARTS_PER_TRANSACTION = 20;
const ROWS_PER_READ = 20;
const CHANGES_PER_READ = 50;

/** A job of an earlier process is pending at once. */
export function createInitialSync(deps: InitialSyncDeps): InitialSync {
  const { store, catalogue, clock, types, runner } = deps;
  const kinds = [...types.cloudOwned].sort((a, b) => types.dependencyRank(a) - types.dependencyRank(b));
  let isPending = readJob(store) !== null;
  let isStopped = false;

  /** True when the job is finished. */
  function runBatch(tx: Transaction): boolean {
    const job = readJob(tx);
    if (!job) return true;
    const chunk = tx.one<{ at: number; body: string }>(
      "SELECT at, body FROM initial_sync_jobs WHERE at > 0 ORDER BY at LIMIT 1",
    );
    if (chunk) {
      alignIds(tx, JSON.parse(chunk.body) as BaselinePart);
      tx.run("DELETE FROM initial_sync_jobs WHERE at = ?", chunk.at);
      return false;
    }
    const until = clock.monotonicMs() + BATCH_MS;
    const isOver = runner.runWithin(
      tx,
      job.listing
        ? listOwnRows(tx, job, () => clock.monotonicMs() > until)
        : processRows(tx, job, () => clock.monotonicMs() > until),
    );
    if (isOver) discard(tx);
    else saveJob(tx, job);
    if (isOver) isPending = false;
    return isOver;
  }

  function alignIds(tx: Transaction, { people = [], administrators = [], subscribers = [] }: BaselinePart): void {
    saveSharedIds(tx, alignPeopleIds(tx, people));
    const isKnown = ([, userId]: readonly [string, string]): boolean => isSharedId(tx, userId);
    saveSharedIds(tx, alignAdministratorIds(tx, administrators.filter(isKnown)));
    saveSharedIds(tx, alignSubscriberIds(tx, (subscribers ?? []).filter(isKnown)));
  }

  /** Notes which rows must not be lost, before anything is changed. False: the rows are processed next. */
  function* listOwnRows(tx: Transaction, job: InitialSyncJob, isLate: () => boolean): TransactionProgram<false> {
    const listing = { ...(job.listing ?? { kind: 0, after: 0 }) };
    const counted = new Map<string, { count: number; sum: number }>();
    for (let kind = kinds[listing.kind]; kind !== undefined && !isLate(); kind = kinds[listing.kind]) {
      const found = tx.all<{ pk: number; id: string }>(
        `SELECT pk, id FROM ${tableName(catalogue.byName(kind))} WHERE pk > ? ORDER BY pk LIMIT ${ROWS_PER_READ}`,
        listing.after,
      );
      for (const { id } of isBrought(kind) ? found : []) {
        yield* putRecord(INITIAL_SYNC_ROWS, { type: kind, id });
        const sum = rowVersionHash(kind, id, 0);
        counted.set(kind, sumDigests(counted.get(kind) ?? { count: 0, sum: 0 }, { count: 1, sum }));
      }
      const isLast = found.length < ROWS_PER_READ;
      Object.assign(listing, isLast ? { kind: listing.kind + 1, after: 0 } : { after: found.at(-1)?.pk ?? 0 });
    }
    const report = yield* readInitialSyncReport();
    const of = (report?.types ?? []).map((each) => ({
      ...each,
      before: sumDigests(each.before, counted.get(each.type) ?? { count: 0, sum: 0 }),
    }));
    if (report) yield* putRecord(INITIAL_SYNC_REPORT, { id: "report", isOpen: 1, report: { ...report, types: of } });
    job.listing = kinds[listing.kind] === undefined ? null : listing;
    return false;
  }

  /** Changes of processed rows come first, so that later rows do not refer to anything unsent. */
  function* processRows(tx: Transaction, job: InitialSyncJob, isLate: () => boolean): TransactionProgram<boolean> {
    if (!(yield* processLateChanges(tx, job, isLate))) return false;
    for (let kind = kinds[job.kind]; kind !== undefined; kind = kinds[job.kind]) {
      const resource = catalogue.byName(kind);
      const rows = tx.all<{ pk: number; id: string }>(
        `SELECT pk, id FROM ${tableName(resource)} WHERE pk > ? ORDER BY pk LIMIT ${ROWS_PER_READ}`,
        job.after,
      );
      for (const { pk, id } of rows) {
        yield* processRow(tx, kind, id, job);
        job.after = pk;
        if (isLate()) return false;
      }
      if (rows.length === ROWS_PER_READ) continue;
      job.kind += 1;
      job.after = 0;
    }
    if (job.mode === "join") yield* sendOwnEndpoint(tx, (yield* readSyncState()).endpoint);
    yield* startStateResend();
    return true;
  }

  function* processRow(tx: Transaction, type: string, id: string, { mode }: InitialSyncJob): TransactionProgram<void> {
    if (isSharedId(tx, id)) return;
    if (mode === "join") renameAndDisable(tx, catalogue.byName(type), id, clock.now());
    else yield* sendRow(tx, type, id);
  }

  /** False if time ran out before all changes were processed. */
  function* processLateChanges(
    tx: Transaction,
    job: InitialSyncJob,
    isLate: () => boolean,
  ): TransactionProgram<boolean> {
    for (;;) {
      const found = tx.all<{ seq: number; type: string; id: string }>(
        `SELECT seq, type, row_id AS id FROM changes WHERE seq > ? ORDER BY seq LIMIT ${CHANGES_PER_READ}`,
        job.seen,
      );
      const processed = found.filter(({ type, id }) => isAlreadyProcessed(tx, type, id, job));
      for (const { type, id } of processed.sort(
        (a, b) => types.dependencyRank(a.type) - types.dependencyRank(b.type),
      )) {
        if (job.mode === "adopt" && !isSharedId(tx, id)) yield* sendWithReferences(tx, type, id);
        else if (tx.get(catalogue.byName(type), id)) yield* processRow(tx, type, id, job);
      }
      job.seen = found.at(-1)?.seq ?? job.seen;
      if (found.length < CHANGES_PER_READ) return true;
      if (isLate()) return false;
    }
  }

  function isAlreadyProcessed(tx: Transaction, type: string, id: string, { kind, after }: InitialSyncJob): boolean {
    const at = kinds.indexOf(type);
    if (at === -1 || at > kind) return false;
    if (at < kind) return true;
    const row = tx.one<{ pk: number }>(`SELECT pk FROM ${tableName(catalogue.byName(type))} WHERE id = ?`, id);
    return row === null || row.pk <= after;
  }

  /** Rows that it refers to may be new, too. */
  function* sendWithReferences(tx: Transaction, type: string, id: string, depth = 0): TransactionProgram<void> {
    const resource = catalogue.byName(type);
    const row = tx.get(resource, id) as RowBody | null;
    for (const [name, spec] of row && depth < MAX_DEPTH ? Object.entries(resource.fields) : []) {
      if (spec.kind !== "ref" && spec.kind !== "many") continue;
      if (!kinds.includes(spec.to)) continue;
      for (const other of [row?.[name] ?? []].flat() as string[]) {
        if (isSharedId(tx, other) || (yield* readSentBody(spec.to, other))) continue;
        yield* sendWithReferences(tx, spec.to, other, depth + 1);
      }
    }
    yield* sendRow(tx, type, id);
  }

  /** Sends the difference to what was sent before. */
  function* sendRow(tx: Transaction, type: string, id: string): TransactionProgram<void> {
    const resource = catalogue.byName(type);
    const row = tx.get(resource, id) as RowBody | null;
    if (!isBrought(type) || (row && !isReplicated(resource, row))) return;
    yield* sendBody(type, id, row && replicatedBody(resource, row));
  }

  /**
   * Sends the appliance's own endpoint without its site, which stays local: the organisation would refuse the
   * reference.
   */
  function* sendOwnEndpoint(tx: Transaction, id: string): TransactionProgram<void> {
    const row = tx.get(endpoints, id) as RowBody | null;
    if (!row) return;
    const { siteId: _, ...body } = replicatedBody(endpoints, row);
    yield* sendBody(endpoints.name, id, body);
  }

  function* sendBody(type: string, id: string, after: RowBody | null): TransactionProgram<void> {
    const before = yield* readSentBody(type, id);
    if (!before && !after) return;
    // Rows that were made since the list was written are part of it, too.
    if (after) yield* putRecord(INITIAL_SYNC_ROWS, { type, id });
    else yield* deleteRecord(INITIAL_SYNC_ROWS, type, id);
    yield* recordLocalWrite({ before, after, type, id, actor: "enrolment", at: clock.now(), newId }, types);
  }

  function* readSentBody(type: string, id: string): TransactionProgram<RowBody | null> {
    const edits = yield* scanRecords(LOCAL_EDITS, { by: "row", where: [type, id] });
    const inOrder = edits.sort((a, b) => a.sequence - b.sequence);
    return inOrder.reduce<RowBody | null>((body, { edit }) => applyEdit(body, edit), null);
  }

  function discard(tx: Transaction): void {
    for (const { name } of INITIAL_SYNC_TABLES) tx.run(`DELETE FROM ${name}`);
  }

  return {
    isPending: () => isPending,
    discard,
    async schedule(baseline, mode, first) {
      await store.write(discard);
      const parts = splitBaseline(baseline);
      for (let at = 0; at < parts.length; at += PARTS_PER_TRANSACTION) {
        await store.write((tx) => {
          for (const [nth, part] of parts.slice(at, at + PARTS_PER_TRANSACTION).entries())
            tx.run("INSERT INTO initial_sync_jobs VALUES (?, ?)", at + nth + 1, JSON.stringify(part));
        });
        await yieldToEventLoop(clock);
      }
      await store.write((tx) => {
        first(tx);
        saveSharedIds(tx, alignSingletonIds(tx, baseline));
        const seen = tx.one<{ seq: number | null }>("SELECT max(seq) AS seq FROM changes")?.seq ?? 0;
        saveJob(tx, { mode, kind: 0, after: 0, seen, listing: { kind: 0, after: 0 } });
        const report = newReport(mode, baseline, kinds, clock.now());
        runner.runWithin(tx, putRecord(INITIAL_SYNC_REPORT, { id: "report", isOpen: 1, report }));
      });
      isPending = true;
    },
    async run() {
      while (!isStopped) {
        if (await store.write(runBatch)) return true;
        await yieldToEventLoop(clock);
      }
      return false;
    },
    stop() {
      isStopped = true;
    },
  };
}

/** Longest chain of references between new rows. @source docs/decisions/0300-sync-limits.md */
const MAX_DEPTH = 5;

/** Tokens that were made here are valid only here. */
const isBrought = (type: string): boolean => type !== userTokens.name;

function newReport(
  mode: EnrolMode,
  { counts }: OrganisationBaseline,
  kinds: readonly string[],
  startedAt: number,
): InitialSyncReport {
  const open = { here: null, cloud: null, isEqual: false };
  const types = [...kinds].sort().map((type) => ({
    type,
    before: { count: 0, sum: 0 },
    cloudBefore: counts ? (counts[type] ?? { count: 0, sum: 0 }) : null,
    ...open,
  }));
  const end = { checkedAt: null, finishedAt: null, waitsFor: null, differences: [], more: 0 };
  return { mode, state: "running", startedAt, types, ...end };
}

function readJob(reader: Pick<StoreReader, "one">): InitialSyncJob | null {
  const found = reader.one<{ body: string }>("SELECT body FROM initial_sync_jobs WHERE at = 0");
  return found && (JSON.parse(found.body) as InitialSyncJob);
}

function saveJob(tx: Transaction, job: InitialSyncJob): void {
  tx.run("INSERT OR REPLACE INTO initial_sync_jobs VALUES (0, ?)", JSON.stringify(job));
}

function saveSharedIds(tx: Transaction, ids: readonly string[]): void {
  for (const id of ids) tx.run("INSERT OR IGNORE INTO initial_sync_shared_ids VALUES (?)", id);
}

function isSharedId(reader: Pick<StoreReader, "one">, id: string): boolean {
  return reader.one("SELECT 1 FROM initial_sync_shared_ids WHERE id = ?", id) !== null;
}

function splitBaseline({ people, administrators, subscribers = [] }: OrganisationBaseline): BaselinePart[] {
  const inParts = <T>(lines: readonly T[]): T[][] =>
    Array.from({ length: Math.ceil(lines.length / LINES_PER_PART) }, (_, at) =>
      lines.slice(at * LINES_PER_PART, (at + 1) * LINES_PER_PART),
    );
  return [
    ...inParts(people).map((some) => ({ people: some })),
    ...inParts(administrators).map((some) => ({ administrators: some })),
    ...inParts(subscribers).map((some) => ({ subscribers: some })),
  ];
}
