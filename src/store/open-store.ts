import { createHmac } from "node:crypto";
import type { Clock } from "../base/clock.ts";
import { BugError } from "../base/errors.ts";
import type { EventMap, Events } from "../base/events.ts";
import { newId } from "../base/ids.ts";
import type { Log } from "../base/log.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { AnyResource, RowOf, SystemValues } from "../schema/resource.ts";
import { BATCH_TABLE, createBatches } from "./batches.ts";
import { createCheckpoint } from "./checkpoint.ts";
import { cloneRow } from "./clone.ts";
import { openDatabase, openInMemory } from "./database.ts";
import { createFactPager } from "./fact-pages.ts";
import { createFileStore, type FileConverter } from "./files.ts";
import { notedKey, noteKey, refuseCopy } from "./key-note.ts";
import { createLiveCopy } from "./live-copy.ts";
import { migrate } from "./migrate.ts";
import { createOnce } from "./once.ts";
import { createPager } from "./page.ts";
import { createPageTokens } from "./page-token.ts";
import { createReader } from "./reader.ts";
import { createRecords } from "./records.ts";
import { createRemoval } from "./removal.ts";
import { createReplica } from "./replica.ts";
import { createRowImages } from "./row-images.ts";
import { createSearchIndex, isIndexed } from "./search-index.ts";
import { applianceKey, createSecrets, keyFingerprint } from "./secrets.ts";
import { createSelects } from "./selects.ts";
import type { SharedLog } from "./shared-log.ts";
import type { SpareRoom } from "./spare-room.ts";
import type { Behaviour, By, Recorder, RoomTable, SqlValue, Store, Sync, Transaction } from "./store.ts";
import { buildTables } from "./tables.ts";
import { noteVersion, refuseNewer } from "./version.ts";
import { type Safety, WriteQueue } from "./write-queue.ts";
import { closedTransaction, createWriter } from "./writer.ts";

/** What a store is made of. */
export interface StoreOptions {
  dataDir: string;
  /** For simulations: rows lie in memory and go with the process; files and the key stay in `dataDir`. */
  inMemory?: boolean;
  /** The secret key where it does not lie with the data; found by `applianceKey` unless given. */
  key?: Buffer;
  catalogue: Catalogue;
  /** Logic bound to resources, by declaration name. Looked up at each use: rooms that need the store are bound later. */
  behaviours?: Readonly<Record<string, Behaviour>>;
  /** The version of this Carillon, which the database remembers; data that a newer one wrote is refused. */
  version?: string;
  /** Who takes what is written, if anybody does. Looked up at each write, as it is made later. */
  recording?: { recorder: Recorder | null };
  /** What makes stored files of those that are sent; none unless given. */
  converter?: FileConverter;
  /** Tables of rooms' own. */
  tables?: readonly RoomTable[];
  clock: Clock;
  events: Events;
  log: Log;
  /** Where other processes have the same rows from; this one alone has them unless given. */
  shared?: SharedLog;
  /** Only what others write is taken; nothing is written here. */
  follows?: boolean;
  /** Room that urgent writes get once the disk is full; none unless given. */
  spareRoom?: Pick<SpareRoom, "release">;
  /** Told when a disk fault left a commit's outcome unknown: the process must end (exit code 74). */
  onFatal: (error: unknown) => void;
}

/** Opens (or makes) the database in `dataDir` and brings it to the declarations. Throws UpstreamError when it is in use. */
export function openStore(options: StoreOptions): Store {
  const { dataDir, catalogue, clock, events } = options;
  const db = options.inMemory ? openInMemory() : openDatabase(dataDir);
  const tables = buildTables(catalogue);
  // For statements that make rows in bulk.
  db.function("uuid7", { deterministic: false }, () => newId());
  if (options.version !== undefined) refuseNewer(db, options.version, dataDir);
  migrate(db, tables, options.tables ?? []);
  if (options.version !== undefined) noteVersion(db, options.version);
  const key = keyOf(options, db);
  const secrets = createSecrets(key);
  const selects = createSelects(db, tables);
  const tokens = createPageTokens(createHmac("sha256", key).update("page tokens").digest());
  const page = createPager(selects, tokens);
  const reader = createReader(db, selects, page);
  const searchIndex = createSearchIndex(db, tables, options.log);
  const records = createRecords(db, searchIndex, clock);
  const once = createOnce(db, secrets, clock);
  const behaviourOf = (resource: AnyResource): Behaviour => options.behaviours?.[resource.name] ?? {};

  let told: (() => void)[] = [];
  let current: Transaction | null = null;
  const tell = <K extends keyof EventMap>(name: K, payload: EventMap[K]): void =>
    void told.push(() => events.emit(name, payload));
  const writer = createWriter({
    db,
    tables,
    reader,
    records,
    searchIndex,
    once,
    secrets,
    clock,
    behaviourOf,
    keyFor: (table) => batches.keyFor(table),
    transaction: () => current ?? closedTransaction(),
    recorder: () => options.recording?.recorder ?? null,
    changed: (seq, resource, id, op) => tell("row.changed", { seq, resource: resource.name, id, op }),
    told: { count: () => told.length, forgetFrom: (count) => void told.splice(count) },
  });
  const replica = options.shared ? replicaOf(options.shared, writer.forget) : null;
  const checkpoint = createCheckpoint(db);
  const liveCopy = createLiveCopy(db, checkpoint);
  const queue = new WriteQueue({
    db,
    clock,
    beforeCommit: searchIndex.catchUp,
    checkpoint,
    onRollback: writer.forget,
    onFatal: options.onFatal,
    replica: replica?.copy ?? null,
    spareRoom: options.spareRoom,
  });
  // Rows written by a version that did not know a searched field yet.
  if (searchIndex.isBehind()) queue.wake();

  /** This copy of the rows; what it finds texts by follows from them. */
  function replicaOf(log: SharedLog, changed: () => void) {
    db.exec(BATCH_TABLE);
    const indexed = new Set(tables.layouts.filter(isIndexed).map(({ table }) => table));
    const mark = db.prepare("INSERT OR IGNORE INTO search_pending VALUES (?, ?)");
    const images = createRowImages(db, (table, pk) => indexed.has(table) && mark.run(table, pk));
    return { images, copy: createReplica(log, images, changed) };
  }

  const inEvery: Omit<Transaction, "clone" | "run"> = {
    ...reader,
    create: <R extends AnyResource>(resource: R, input: object, by: By, system: object = {}) =>
      writer.create(resource, input, by, system) as unknown as RowOf<R>,
    update: <R extends AnyResource>(resource: R, id: string, input: object, by: By, system: object = {}) =>
      writer.update(resource, id, input, by, system) as unknown as RowOf<R>,
    remove(resource, id, by) {
      writer.requireChangeable(resource, id, by);
      writer.remove(resource, id, by);
    },
    apply: writer.apply,
    applyAll: writer.applyAll,
    note: records.note,
    emit: tell,
  };
  const openTransaction = (): Transaction => {
    // Inherited, since copying it all for each write takes 6 µs.
    const transaction: Transaction = Object.assign(Object.create(inEvery) as typeof inEvery, {
      clone: <R extends AnyResource>(resource: R, id: string, by: By) =>
        cloneRow({ tx: transaction, catalogue }, resource, id, by) as unknown as RowOf<R>,
      run(text: string, ...params: SqlValue[]) {
        if (current !== transaction) closedTransaction();
        const { changes, lastInsertRowid } = statement(text).run(...params);
        return { changes, lastInsertRowid: Number(lastInsertRowid) };
      },
    });
    return transaction;
  };
  const prepared = new Map<string, ReturnType<typeof db.prepare>>();
  const statement = (text: string) => {
    const found = prepared.get(text) ?? db.prepare(text);
    prepared.set(text, found);
    return found;
  };

  function write<T>(
    fn: (tx: Transaction) => Sync<T>,
    lane: "normal" | "emergency" = "normal",
    safety: Safety = "at-once",
  ): Promise<T> {
    let mine: (() => void)[] = [];
    const run = (): T => {
      current = openTransaction();
      told = [];
      try {
        return fn(current);
      } finally {
        mine = told;
        current = null;
      }
    };
    const committed = (): void => {
      for (const say of mine) say();
    };
    if (options.follows) return Promise.reject(new BugError("A copy that only follows is not written."));
    return queue.write(run, committed, lane, safety);
  }

  const batches = createBatches({ db, tables, reader, writer, write, keepsLeft: options.follows === true });
  const removals = createRemoval({ db, tables, reader, writer, clock, write });

  const opened: Store = {
    ...reader,
    files: createFileStore(dataDir, options.converter, options.shared),
    secrets,
    once,
    pageOfFacts: createFactPager({ selects, page, clock }),
    write,
    behaviourOf,
    async create<R extends AnyResource>(resource: R, input: object, by: By, system?: SystemValues<R>) {
      const given = { ...input };
      const { createInSlices, prepare } = behaviourOf(resource);
      if (createInSlices) return (await createInSlices(given, by, opened)) as RowOf<R>;
      await prepare?.(given, "create", reader);
      return write((tx) => tx.create(resource, given, by, system) as Sync<RowOf<R>>);
    },
    async update(resource, id, input, by, system, check) {
      const given = { ...input };
      await behaviourOf(resource).prepare?.(given, "update", reader);
      return write((tx) => {
        const row = check && tx.get(resource, id);
        if (row) check(row);
        return tx.update(resource, id, given, by, system) as Sync<RowOf<typeof resource>>;
      });
    },
    async remove(resource, id, by, check) {
      const { removeInSlices } = behaviourOf(resource);
      if (removeInSlices) await removeInSlices(id, by, opened, check as never);
      else await removals.remove(resource, id, by, check as never);
    },
    rehearseRemoval: removals.rehearse as Store["rehearseRemoval"],
    clone: <R extends AnyResource>(resource: R, id: string, by: By) =>
      write((tx) => tx.clone(resource, id, by) as Sync<RowOf<R>>),
    openBatch: batches.open,
    announceBatch: batches.announce,
    copyTo: liveCopy.copyTo,
    settled: () => queue.settled(),
    shared: replica && {
      at: replica.images.at,
      all: replica.images.all,
      find: replica.images.find,
      counts: replica.images.counts,
      catchUp: replica.copy.catchUp,
      note: replica.images.note,
    },
    async close() {
      await queue.stop();
      db.close();
      liveCopy.close();
    },
  };
  return opened;
}

/** The key that the data is sealed with; closes the database when it is not there, or is not to be used alone. */
function keyOf({ key, dataDir, shared }: StoreOptions, db: ReturnType<typeof openDatabase>): Buffer {
  try {
    if (!shared) refuseCopy(db, dataDir);
    const found = key ?? applianceKey(dataDir, process.env.CREDENTIALS_DIRECTORY, notedKey(db) !== null);
    noteKey(db, keyFingerprint(found), dataDir);
    return found;
  } catch (error) {
    db.close();
    throw error;
  }
}
