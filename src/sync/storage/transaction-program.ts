/** Type of a column: texts and numbers are stored as they are, everything else as JSON. */
export type ColumnType = "text" | "integer" | "json";

/**
 * A table of the sync engine, declared once for all storage backends. `key` and the columns of `indexes` give the
 * orders in which `scan` can read. Records are plain objects and never changed in place.
 */
export interface Collection<R> {
  readonly name: string;
  readonly key: readonly (keyof R & string)[];
  readonly columns: Readonly<Record<keyof R & string, ColumnType>>;
  readonly indexes: Readonly<Record<string, readonly (keyof R & string)[]>>;
}

/** A part of a key. Texts are ordered by code units, which all backends agree on for ASCII ids and names. */
export type KeyPart = string | number;

/** Selects records of a scan, in the order of the key or of an index. */
export interface ScanRange {
  /** Name of an index; default: the key. */
  by?: string;
  /** Values of the leading columns of that order. */
  where?: readonly KeyPart[];
  /** Exclusive lower bound of the next column. */
  after?: KeyPart;
  /** Inclusive upper bound of the next column. */
  upTo?: KeyPart;
  limit?: number;
  newestFirst?: boolean;
}

/** A replicated row: field names to inner values, ids for references. */
export type RowBody = Readonly<Record<string, unknown>>;

/** Result of writing a row: `wait` until a referenced row exists, or the reason why it was refused. */
export type ApplyResult = "done" | "wait" | { refused: string };

/** One operation that a program asks its store to perform. */
export type StoreOperation =
  | { do: "get"; of: Collection<never>; key: readonly KeyPart[] }
  | { do: "put"; of: Collection<never>; record: object }
  | { do: "drop"; of: Collection<never>; key: readonly KeyPart[] }
  | { do: "clear"; of: Collection<never> }
  | { do: "scan"; of: Collection<never>; range: ScanRange }
  | { do: "row"; type: string; id: string }
  | { do: "ids"; type: string; after: string | null; limit: number }
  | { do: "referring"; type: string; id: string; from: string | null; limit: number }
  | { do: "apply"; type: string; id: string; body: RowBody | null }
  | { do: "applyAll"; rows: readonly RowWrite[] }
  | { do: "judge"; change: SiteChange };

export interface RowWrite {
  type: string;
  id: string;
  body: RowBody;
}

/** Some of the rows that refer to a row. */
export interface ReferringRows {
  rows: { type: string; id: string }[];
  next: string | null;
}

/** A change that an appliance wants to make in the cloud. */
export interface SiteChange {
  endpoint: string;
  /** Ids of the topmost domains that the appliance is bound to; null for the whole organisation. */
  domainIds: readonly string[] | null;
  type: string;
  id: string;
  /** Present and new version of the row; null if there is none. */
  before: RowBody | null;
  after: RowBody | null;
}

/**
 * The body of one transaction, as a generator that yields store operations. SQLite executes it synchronously, a
 * networked database could do so asynchronously. Usage: `const state = yield* getRecord(SYNC_STATE, "link")`.
 */
// biome-ignore lint/suspicious/noExplicitAny: the type sent in depends on the yielded operation
export type TransactionProgram<T> = Generator<StoreOperation, T, any>;

/** A store that runs transaction programs. */
export interface TransactionStore {
  /** Atomic; resolves once durable. Emergency programs go first. */
  transact<T>(program: () => TransactionProgram<T>, lane?: "normal" | "emergency"): Promise<T>;
  /** Runs a read-only program on one snapshot; does not wait for writers. */
  read<T>(program: () => TransactionProgram<T>): Promise<T>;
}

export function defineCollection<R>(
  name: string,
  key: readonly (keyof R & string)[],
  columns: Readonly<Record<keyof R & string, ColumnType>>,
  indexes: Readonly<Record<string, readonly (keyof R & string)[]>> = {},
): Collection<R> {
  return { name, key, columns, indexes };
}

/** The record with this key, or null. */
export function* getRecord<R>(of: Collection<R>, ...key: KeyPart[]): TransactionProgram<R | null> {
  return yield { do: "get", of: of as Collection<never>, key };
}

/** Inserts or replaces a record. */
export function* putRecord<R extends object>(of: Collection<R>, record: R): TransactionProgram<void> {
  yield { do: "put", of: of as unknown as Collection<never>, record };
}

/** Deletes a record; a missing one is ignored. */
export function* deleteRecord<R>(of: Collection<R>, ...key: KeyPart[]): TransactionProgram<void> {
  yield { do: "drop", of: of as Collection<never>, key };
}

export function* deleteAllRecords<R>(of: Collection<R>): TransactionProgram<void> {
  yield { do: "clear", of: of as Collection<never> };
}

/** Records in order; all unless `limit` is set. */
export function* scanRecords<R>(of: Collection<R>, range: ScanRange = {}): TransactionProgram<R[]> {
  return yield { do: "scan", of: of as Collection<never>, range };
}

/** A row of the product in replicated form, or null. */
export function* readProductRow(type: string, id: string): TransactionProgram<RowBody | null> {
  return yield { do: "row", type, id };
}

/** Ids of product rows in ascending order, after `after`. */
export function* listProductIds(type: string, after: string | null, limit: number): TransactionProgram<string[]> {
  return yield { do: "ids", type, after, limit };
}

/** Product rows that refer to a row, in parts: `next` is where to go on, null at the end. */
export function* listReferringRows(
  type: string,
  id: string,
  from: string | null,
  limit: number,
): TransactionProgram<ReferringRows> {
  return yield { do: "referring", type, id, from, limit };
}

/** Writes (or, with null, deletes) a product row. The effects of a refused row are rolled back. */
export function* applyRow(type: string, id: string, body: RowBody | null): TransactionProgram<ApplyResult> {
  return yield { do: "apply", type, id, body };
}

/**
 * Writes product rows in order, much faster than one by one. All or none: false if one would be refused or have to
 * wait.
 */
export function* applyRows(rows: readonly RowWrite[]): TransactionProgram<boolean> {
  return yield { do: "applyAll", rows };
}

/** Why a change goes beyond the authority of an appliance; null if it does not. */
export function* judgeSiteChange(change: SiteChange): TransactionProgram<string | null> {
  return yield { do: "judge", change };
}

/** Runs a program synchronously. */
export function runProgram<T>(program: TransactionProgram<T>, execute: (statement: StoreOperation) => unknown): T {
  let step = program.next();
  while (!step.done) step = program.next(execute(step.value));
  return step.value;
}
