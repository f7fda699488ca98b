import { createHmac } from "node:crypto";
import type Database from "better-sqlite3";
import type { Clock } from "../lib/clock.ts";
import { markWork } from "../lib/current-work.ts";
import { BugError } from "../lib/errors.ts";
import type { EventMap, Events } from "../lib/events.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource, RowOf, SystemValues } from "../schema/resource.ts";
import { auditKeyOf } from "./audit-chain.ts";
import { createAuditLog } from "./audit-log.ts";
import { createChangeRecords } from "./change-records.ts";
import { createChunkedPager } from "./chunked-pager.ts";
import { cloneRow } from "./clone-row.ts";
import { assertNotNewer, writeDataVersion } from "./data-version.ts";
import { openDatabase, openInMemoryDatabase } from "./database.ts";
import type { DiskReserve } from "./disk-reserve.ts";
import { createFileStore, type FileConverter } from "./file-store.ts";
import { createIdempotencyStore } from "./idempotency-store.ts";
import { assertNotSharedCopy, readKeyFingerprint, verifyKeyFingerprint } from "./key-fingerprint.ts";
import { readAuditKey, sealWithNextKey, settleKeyRotation } from "./key-rotation.ts";
import { runMigrations } from "./migrations/run-migrations.ts";
import { syncSchema } from "./migrations/sync-schema.ts";
import { createOnlineBackup } from "./online-backup.ts";
import { createPageTokens } from "./page-token.ts";
import { createPager } from "./pager.ts";
import { createPreparedSelects } from "./prepared-selects.ts";
import { createStoreReader } from "./reader.ts";
import { createReplica } from "./replica.ts";
import { createRowImages } from "./row-images.ts";
import { createRowRemover } from "./row-removal.ts";
import { createSearchIndex, isIndexed } from "./search-index.ts";
import { hashGivenSecrets } from "./secret-hashes.ts";
import { createSecrets, keyFingerprint, loadSecretKey } from "./secrets.ts";
import type { SharedLog } from "./shared-log.ts";
import { BATCH_TABLE, createStagedBatches } from "./staged-batches.ts";
import { createTableStatistics } from "./statistics.ts";
import type {
  ActorContext,
  ChangeCapture,
  InternalTable,
  ResourceHooks,
  SqlValue,
  Store,
  Sync,
  Transaction,
} from "./store.ts";
import { buildTables } from "./tables.ts";
import { createWalCheckpointer } from "./wal-checkpoint.ts";
import { type Durability, WriteQueue } from "./write-queue.ts";
import { closedTransaction, createWriter } from "./writer.ts";

/** A stop waits no longer than this for the statistics of tables. */
const CLOSE_BUDGET_MS = 50;

/** Options of a store. */
export interface StoreOptions {
  dataDir: string;
  /** For simulations: rows are kept in memory only; files and the key stay in `dataDir`. */
  inMemory?: boolean;
  /** The secret key if it is not stored with the data; default: found by `loadSecretKey`. */
  key?: Buffer;
  catalogue: Catalogue;
  /** Hooks by resource name. Looked up at each use, because modules that need the store are bound later. */
  hooks?: Readonly<Record<string, ResourceHooks>>;
  /** The running version, which is stored in the database; data written by a newer version is refused. */
  version?: string;
  /** Captures each written row for replication. Looked up at each write, because it is created later. */
  recording?: { recorder: ChangeCapture | null };
  /** Converts uploaded files; default: none. */
  converter?: FileConverter;
  /** Internal tables of other modules. */
  tables?: readonly InternalTable[];
  clock: Clock;
  events: Events;
  log: Log;
  /** The log shared with other processes that write the same rows; default: this process alone has them. */
  shared?: SharedLog;
  /** True for a read-only replica, which only applies the writes of other processes. */
  isFollower?: boolean;
  /** Reserve released for emergency writes once the disk is full; default: none. */
  diskReserve?: Pick<DiskReserve, "release">;
  /** Called when a disk error leaves the outcome of a commit unknown; the process must exit with code 74. */
  onFatal: (error: unknown) => void;
}

/**
 * Opens or creates the database in `dataDir`, runs the migrations and syncs the schema with the declarations. Throws
 * UpstreamError when it is in use.
 */
export function openStore(options: StoreOptions): Store {
  const { dataDir, catalogue, clock, events } = options;
  const db = options.inMemory ? openInMemoryDatabase() : openDatabase(dataDir);
  const tables = buildTables(catalogue);
  // For SQL that inserts rows in bulk.
  db.function("uuid7", { deterministic: false }, () => newId());
  if (options.version !== undefined) assertNotNewer(db, options.version, dataDir);
  const migrated = runMigrations(db, { dataDir, now: clock.now() });
  if (migrated.length > 0)
    options.log.info({ event: "store.migrated", migrations: migrated }, "data migrated to this release");
  syncSchema(db, tables, options.tables ?? []);
  if (options.version !== undefined) writeDataVersion(db, options.version);
  const key = loadKey(options, db);
  const secrets = createSecrets(key);
  const selects = createPreparedSelects(db, tables);
  const tokens = createPageTokens(createHmac("sha256", key).update("page tokens").digest());
  const pager = createPager(selects, tokens);
  const reader = createStoreReader(db, selects, pager);
  const searchIndex = createSearchIndex(db, tables, options.log);
  const auditKey = readAuditKey(db, secrets) ?? auditKeyOf(key);
  const records = createChangeRecords(db, auditKey, searchIndex, clock);
  const idempotency = createIdempotencyStore(db, secrets, clock);
  const hooksFor = (resource: AnyResource): ResourceHooks => options.hooks?.[resource.name] ?? {};

  let pendingEvents: (() => void)[] = [];
  let current: Transaction | null = null;
  const queueEvent = <K extends keyof EventMap>(name: K, payload: EventMap[K]): void =>
    void pendingEvents.push(() => events.emit(name, payload));
  const writer = createWriter({
    db,
    tables,
    reader,
    records,
    searchIndex,
    idempotency,
    secrets,
    clock,
    hooksFor,
    nextKeyFor: (table) => batches.nextKeyFor(table),
    transaction: () => current ?? closedTransaction(),
    changeCapture: () => options.recording?.recorder ?? null,
    changed: (seq, resource, id, op) => queueEvent("row.changed", { seq, resource: resource.name, id, op }),
    pendingEvents: { count: () => pendingEvents.length, forgetFrom: (count) => void pendingEvents.splice(count) },
  });
  const replica = options.shared ? openReplica(options.shared, writer.resetCaches) : null;
  const checkpoint = createWalCheckpointer(db);
  const onlineBackup = createOnlineBackup(db, checkpoint);
  const statistics = createTableStatistics(db, clock);
  const queue = new WriteQueue({
    db,
    clock,
    beforeCommit: searchIndex.indexPending,
    checkpoint,
    onRollback: writer.resetCaches,
    onFatal: options.onFatal,
    replica: replica?.copy ?? null,
    diskReserve: options.diskReserve,
  });
  // Rows written before a field became searchable wait to be indexed.
  if (searchIndex.isBehind()) queue.wake();

  /** Opens the local replica; the search index is derived from its rows. */
  function openReplica(log: SharedLog, changed: () => void) {
    db.exec(BATCH_TABLE);
    const indexed = new Set(tables.layouts.filter(isIndexed).map(({ table }) => table));
    const mark = db.prepare("INSERT OR IGNORE INTO search_pending VALUES (?, ?)");
    const images = createRowImages(db, (table, pk) => indexed.has(table) && mark.run(table, pk));
    return { images, copy: createReplica(log, images, changed) };
  }

  const transactionMethods: Omit<Transaction, "clone" | "run"> = {
    ...reader,
    create: <R extends AnyResource>(resource: R, input: object, by: ActorContext, system: object = {}) =>
      writer.create(resource, input, by, system) as unknown as RowOf<R>,
    update: <R extends AnyResource>(resource: R, id: string, input: object, by: ActorContext, system: object = {}) =>
      writer.update(resource, id, input, by, system) as unknown as RowOf<R>,
    remove(resource, id, by) {
      writer.assertChangeable(resource, id, by);
      writer.remove(resource, id, by);
    },
    apply: writer.apply,
    applyAll: writer.applyAll,
    addAuditEvent: records.appendAuditEvent,
    emit: queueEvent,
  };
  const openTransaction = (): Transaction => {
    // Prototype inheritance: copying all members for each write takes 6 µs.
    const transaction: Transaction = Object.assign(Object.create(transactionMethods) as typeof transactionMethods, {
      clone: <R extends AnyResource>(resource: R, id: string, by: ActorContext) =>
        cloneRow({ tx: transaction, catalogue }, resource, id, by) as unknown as RowOf<R>,
      run(text: string, ...params: SqlValue[]) {
        if (current !== transaction) closedTransaction();
        const { changes, lastInsertRowid } = statement(text).run(...params);
        return { changes, lastInsertRowid: Number(lastInsertRowid) };
      },
    });
    return transaction;
  };
  const prepared = new Map<string, Database.Statement<SqlValue[]>>();
  const statement = (text: string) => {
    markWork();
    const found = prepared.get(text) ?? db.prepare(text);
    prepared.set(text, found);
    return found;
  };

  function write<T>(
    fn: (tx: Transaction) => Sync<T>,
    lane: "normal" | "emergency" = "normal",
    durability: Durability = "immediate",
  ): Promise<T> {
    let eventsOfWrite: (() => void)[] = [];
    const run = (): T => {
      current = openTransaction();
      pendingEvents = [];
      try {
        return fn(current);
      } finally {
        eventsOfWrite = pendingEvents;
        current = null;
      }
    };
    const committed = (): void => {
      for (const emit of eventsOfWrite) emit();
    };
    if (options.isFollower) return Promise.reject(new BugError("A read-only replica must not be written to."));
    return queue.write(run, committed, lane, durability);
  }

  /** Without statistics SQLite chooses indexes by rules of thumb: a failure is logged, and no more. */
  const statisticsFailed = (error: unknown): string[] => {
    options.log.warn({ event: "store.statistics_failed", err: error }, "the statistics of tables could not be renewed");
    return [];
  };
  const refreshStatistics = async (): Promise<string[]> => {
    if (options.isFollower) return [];
    const analyzeInQueue = (analyze: () => void) => queue.write(analyze, () => undefined, "normal", "deferred");
    return statistics.refresh(analyzeInQueue).catch(statisticsFailed);
  };
  events.on("batch.published", () => void refreshStatistics());

  const batches = createStagedBatches({
    db,
    tables,
    reader,
    writer,
    write,
    keepLeftovers: options.isFollower === true,
  });
  const removals = createRowRemover({ db, tables, reader, writer, clock, write });

  const opened: Store = {
    ...reader,
    files: createFileStore(dataDir, options.converter, options.shared),
    secrets,
    idempotency,
    audit: createAuditLog(reader, clock, auditKey),
    pageInChunks: createChunkedPager({ selects, pager, clock }),
    write,
    hooksFor,
    async create<R extends AnyResource>(resource: R, input: object, by: ActorContext, system?: SystemValues<R>) {
      const given = { ...input };
      const { createInChunks, prepare } = hooksFor(resource);
      if (createInChunks) return (await createInChunks(given, by, opened)) as RowOf<R>;
      await prepare?.(given, "create", reader);
      const values = { ...system, ...(await hashGivenSecrets(resource, given)) } as SystemValues<R>;
      return write((tx) => tx.create(resource, given, by, values) as Sync<RowOf<R>>);
    },
    async update(resource, id, input, by, system, check) {
      const given = { ...input };
      await hooksFor(resource).prepare?.(given, "update", reader);
      const values = { ...system, ...(await hashGivenSecrets(resource, given)) } as typeof system;
      return write((tx) => {
        const row = check && tx.get(resource, id);
        if (row) check(row);
        return tx.update(resource, id, given, by, values) as Sync<RowOf<typeof resource>>;
      });
    },
    async remove(resource, id, by, check) {
      const { removeInChunks } = hooksFor(resource);
      if (removeInChunks) await removeInChunks(id, by, opened, check as never);
      else await removals.remove(resource, id, by, check as never);
    },
    dryRunRemoval: removals.dryRun as Store["dryRunRemoval"],
    clone: <R extends AnyResource>(resource: R, id: string, by: ActorContext) =>
      write((tx) => tx.clone(resource, id, by) as Sync<RowOf<R>>),
    openBatch: batches.open,
    announceBatch: batches.announce,
    backupTo: onlineBackup.copyTo,
    async rotateKey(next, by) {
      // Released pages would still hold the values of the old key: they are overwritten.
      db.pragma("secure_delete = ON");
      const count = await write((tx) => {
        const sealed = sealWithNextKey(db, secrets, next, auditKey);
        const change = sentence("trust.key-replaced", { count: sealed });
        const keys = { before: keyFingerprint(key), after: keyFingerprint(next) };
        tx.addAuditEvent({ op: "trust-change", resource: "secret-key", rowId: null, details: { change, ...keys } }, by);
        return sealed;
      });
      db.pragma("wal_checkpoint(TRUNCATE)");
      return count;
    },
    whenSettled: () => queue.settled(),
    refreshStatistics,
    shared: replica && {
      position: replica.images.position,
      all: replica.images.all,
      find: replica.images.find,
      counts: replica.images.counts,
      catchUp: replica.copy.catchUp,
      setPosition: replica.images.setPosition,
    },
    async close() {
      await queue.stop();
      if (!options.isFollower) {
        try {
          statistics.refreshNow(CLOSE_BUDGET_MS);
        } catch (error) {
          statisticsFailed(error);
        }
      }
      db.close();
      onlineBackup.close();
    },
  };
  return opened;
}

/**
 * Loads the key that the data is sealed with. Closes the database and throws when the key is missing or the data is a
 * shared replica.
 */
function loadKey({ key, dataDir, shared }: StoreOptions, db: ReturnType<typeof openDatabase>): Buffer {
  try {
    if (!shared) assertNotSharedCopy(db, dataDir);
    if (!key) settleKeyRotation(db, dataDir);
    const found = key ?? loadSecretKey(dataDir, process.env.CREDENTIALS_DIRECTORY, readKeyFingerprint(db) !== null);
    verifyKeyFingerprint(db, keyFingerprint(found), dataDir);
    return found;
  } catch (error) {
    db.close();
    throw error;
  }
}
