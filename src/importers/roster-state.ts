import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { createTimeSlice } from "../lib/time-slice.ts";
import type { InternalTable, Store, Transaction } from "../store/store.ts";
import type { RecordChange } from "./load-source.ts";
import type { RosterFileContent, RosterRecord } from "./roster-files.ts";

/**
 * Records of each roster as of its last load, so that a delta changes them and an absent file leaves them; and the changes of
 * a run that is decided. Rows of the file `manifest` name the files that were there.
 */
export const ROSTER_TABLES: readonly InternalTable[] = [
  {
    name: "load_records",
    sql: `CREATE TABLE IF NOT EXISTS load_records (definition TEXT NOT NULL, file TEXT NOT NULL, source_id TEXT NOT NULL,
      data TEXT NOT NULL, PRIMARY KEY (definition, file, source_id)) STRICT, WITHOUT ROWID;`,
  },
  {
    name: "load_record_changes",
    sql: `CREATE TABLE IF NOT EXISTS load_record_changes (pk INTEGER PRIMARY KEY, run INTEGER NOT NULL, definition TEXT NOT NULL,
      file TEXT NOT NULL, source_id TEXT NOT NULL, data TEXT) STRICT;
      CREATE INDEX IF NOT EXISTS load_record_changes__run ON load_record_changes (run);`,
  },
];

/** File name of the rows that name the files of the last load. */
export const MANIFEST = "manifest";
/** Rows read or written together: 1 to 4 ms. */
const CHUNK = 500;
/** Records copied in memory per turn of the event loop: about 1 ms. */
const COPIED_ROWS = 5_000;

/** A record as it is stored. */
export interface StoredRosterRecord {
  source_id: string;
  data: string;
}

type Reader = Pick<Store, "all">;

/** The records of the last load of a definition. */
export interface KnownRecords {
  /** Files of the last load, as `readFileStates`. */
  fileStates: ReadonlyMap<string, string>;
  /** The next records of a file, by sourced id. */
  page(file: string, after: string): readonly StoredRosterRecord[] | Promise<readonly StoredRosterRecord[]>;
}

/** Those in the database; `page` is synchronous. */
export function createKnownRecords(
  store: Reader,
  definition: string,
): KnownRecords & { page(file: string, after: string): readonly StoredRosterRecord[] } {
  const sql = `SELECT source_id, data FROM load_records WHERE definition = ? AND file = ? AND source_id > ?
    ORDER BY source_id LIMIT ${CHUNK}`;
  return {
    fileStates: readFileStates(store, definition),
    page: (file, after) => store.all<StoredRosterRecord>(sql, definition, file, after),
  };
}

async function* storedRecords(known: KnownRecords, file: string, clock: Pick<Clock, "defer">) {
  for (let after = ""; ; ) {
    const rows = await known.page(file, after);
    yield* rows;
    const last = rows.at(-1);
    if (!last) return;
    after = last.source_id;
    await yieldToEventLoop(clock);
  }
}

/** Files of the last load: `given`, or `kept` if a confirmed run went on without the file. */
function readFileStates(store: Reader, definition: string): Map<string, string> {
  const sql = "SELECT source_id, data FROM load_records WHERE definition = ? AND file = ?";
  return new Map(
    store.all<StoredRosterRecord>(sql, definition, MANIFEST).map(({ source_id: file, data }) => [file, data]),
  );
}

/** Times of the loads of a service: the newest change that was read, and the last complete load; null if there was none. */
export function readSyncTimes(store: Reader, definition: string): { since: string | null; complete: string | null } {
  const states = readFileStates(store, definition);
  return { since: states.get("@since") ?? null, complete: states.get("@complete") ?? null };
}

/** Records of a file, with the line of those that were just read, 0 for others. */
export type RosterRecords = Map<string, { line: number; record: RosterRecord }>;

/** The records of a file that is not read. */
export async function keepRecords(
  known: KnownRecords,
  file: string,
  clock: Pick<Clock, "defer">,
): Promise<RosterRecords> {
  const records: RosterRecords = new Map();
  for await (const { source_id: id, data } of storedRecords(known, file, clock)) {
    records.set(id, { line: 0, record: JSON.parse(data) as RosterRecord });
  }
  return records;
}

/** A bulk file replaces the records; those of lines with errors stay. */
export async function replaceRecords(
  known: KnownRecords,
  file: string,
  { records: read, faulty }: RosterFileContent,
  clock: Pick<Clock, "defer">,
): Promise<{ records: RosterRecords; changes: RecordChange[] }> {
  const records: RosterRecords = new Map();
  let copied = 0;
  for (const [id, each] of read) {
    if (++copied % COPIED_ROWS === 0) await yieldToEventLoop(clock);
    if (each) records.set(id, each);
  }
  const changes: RecordChange[] = [];
  const same = new Set<string>();
  for await (const { source_id: id, data } of storedRecords(known, file, clock)) {
    const current = records.get(id);
    if (current && JSON.stringify(current.record) === data) same.add(id);
    else if (!current && faulty.has(id)) {
      records.set(id, { line: faulty.get(id) ?? 0, record: JSON.parse(data) as RosterRecord });
      same.add(id);
    } else if (!current) changes.push({ file, id, data: null });
  }
  let compared = 0;
  for (const [id, { record }] of records) {
    if (++compared % CHUNK === 0) await yieldToEventLoop(clock);
    if (!same.has(id)) changes.push({ file, id, data: JSON.stringify(record) });
  }
  return { records, changes };
}

/** A delta changes the records that it names, unless it is older than what is known of them. */
export async function changeRecords(
  known: KnownRecords,
  file: string,
  { records: read }: RosterFileContent,
  clock: Pick<Clock, "defer">,
): Promise<{ records: RosterRecords; changes: RecordChange[]; outdated: number }> {
  const records = await keepRecords(known, file, clock);
  const changes: RecordChange[] = [];
  let outdated = 0;
  let compared = 0;
  for (const [id, each] of read) {
    if (++compared % CHUNK === 0) await yieldToEventLoop(clock);
    const current = records.get(id);
    if (!each) {
      if (records.delete(id)) changes.push({ file, id, data: null });
      continue;
    }
    if (current && isOlder(each.record, current.record)) {
      outdated++;
      continue;
    }
    records.set(id, each);
    const data = JSON.stringify(each.record);
    if (!current || JSON.stringify(current.record) !== data) changes.push({ file, id, data });
  }
  return { records, changes, outdated };
}

function isOlder(a: RosterRecord, b: RosterRecord): boolean {
  const [at, other] = [a, b].map((record) => Date.parse(record.dateLastModified ?? ""));
  return at !== undefined && other !== undefined && at < other;
}

/** Saves the changes of a run; `applyRecordChanges` applies them once the run is decided. */
export async function saveRecordChanges(
  store: Store,
  run: number,
  definition: string,
  changes: AsyncIterable<readonly RecordChange[]>,
): Promise<void> {
  const sql = "INSERT INTO load_record_changes (run, definition, file, source_id, data) VALUES (?, ?, ?, ?, ?)";
  for await (const some of changes) {
    await store.write((tx) => {
      for (const { file, id, data } of some) tx.run(sql, run, definition, file, id, data);
    });
  }
}

/** Deletes the saved changes of a run that was not decided. */
export async function deleteRecordChanges(store: Store, run: number): Promise<void> {
  const sql = `DELETE FROM load_record_changes WHERE pk IN (SELECT pk FROM load_record_changes WHERE run = ? LIMIT ${CHUNK})`;
  while ((await store.write((tx) => tx.run(sql, run).changes)) > 0);
}

/** Applies the saved changes of a run in short transactions; resumes where an earlier process stopped. */
export async function applyRecordChanges(
  { store, clock, signal }: { store: Store; clock: Clock; signal: AbortSignal },
  run: number,
): Promise<void> {
  const sql = `SELECT pk, definition, file, source_id AS id, data FROM load_record_changes WHERE run = ? ORDER BY pk LIMIT ${CHUNK}`;
  for (;;) {
    signal.throwIfAborted();
    const rows = store.all<StoredRecordChange>(sql, run);
    if (rows.length === 0) return;
    for (let at = 0; at < rows.length; ) {
      at += await store.write((tx) => {
        const slice = createTimeSlice(clock);
        let done = 0;
        do applyRecordChange(tx, rows[at + done++] as StoredRecordChange);
        while (at + done < rows.length && !slice.isOver());
        return done;
      });
    }
  }
}

interface StoredRecordChange extends RecordChange {
  pk: number;
  definition: string;
}

function applyRecordChange(tx: Transaction, { pk, definition, file, id, data }: StoredRecordChange): void {
  if (data === null) {
    tx.run("DELETE FROM load_records WHERE definition = ? AND file = ? AND source_id = ?", definition, file, id);
  } else {
    const columns = "(definition, file, source_id, data)";
    tx.run(`INSERT OR REPLACE INTO load_records ${columns} VALUES (?, ?, ?, ?)`, definition, file, id, data);
  }
  tx.run("DELETE FROM load_record_changes WHERE pk = ?", pk);
}

/** Deletes the records of definitions that no longer exist. */
export async function deleteOrphanedRecords(store: Store, signal: AbortSignal): Promise<void> {
  const orphans =
    "SELECT DISTINCT definition FROM load_records WHERE definition NOT IN (SELECT id FROM load_definitions)";
  for (const { definition } of store.all<{ definition: string }>(orphans)) {
    const sql = `DELETE FROM load_records WHERE (definition, file, source_id) IN
      (SELECT definition, file, source_id FROM load_records WHERE definition = ? LIMIT ${CHUNK})`;
    while (!signal.aborted && (await store.write((tx) => tx.run(sql, definition).changes)) > 0);
  }
}
