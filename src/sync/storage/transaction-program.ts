/** A value of a column: texts and whole numbers are kept as they are, everything else as JSON. */
export type ColumnType = "text" | "integer" | "json";

/**
 * A table of replication's own, declared once for every kind of store. `key` and the columns of `indexes` give the
 * orders in which `scan` can read. Records are plain and never changed in place.
 */
export interface Collection<R> {
  readonly name: string;
  readonly key: readonly (keyof R & string)[];
  readonly columns: Readonly<Record<keyof R & string, ColumnType>>;
  readonly indexes: Readonly<Record<string, readonly (keyof R & string)[]>>;
}

/** A part of a key. Texts are ordered by their code units, which all stores must agree on: ids and names in ASCII. */
export type KeyPart = string | number;

/** Which records a scan reads, in the order of the key or of an index. */
export interface ScanRange {
  /** Name of an index; the key unless given. */
  by?: string;
  /** Values of the first columns of that order. */
  where?: readonly KeyPart[];
  /** The column after those must be greater. */
  after?: KeyPart;
  /** The column after those must not be greater. */
  upTo?: KeyPart;
  limit?: number;
  newestFirst?: boolean;
}

/** A replicated row: field names to inner values, ids for references. */
export type RowBody = Readonly<Record<string, unknown>>;

/** What became of a row that was to be written: `wait` for another row that it refers to, or the reason why not. */
export type ApplyResult = "done" | "wait" | { refused: string };

/** One thing that a piece of work asks of its store. */
export type StoreOperation =
  | { do: "get"; of: Collection<never>; key: readonly KeyPart[] }
  | { do: "put"; of: Collection<never>; record: object }
  | { do: "drop"; of: Collection<never>; key: readonly KeyPart[] }
  | { do: "clear"; of: Collection<never> }
  | { do: "scan"; of: Collection<never>; range: ScanRange }
  | { do: "row"; type: string; id: string }
  | { do: "ids"; type: string; after: string | null; limit: number }
  | { do: "apply"; type: string; id: string; body: RowBody | null }
  | { do: "applyAll"; rows: readonly RowWrite[] };

/** A row as it is to be. */
export interface RowWrite {
  type: string;
  id: string;
  body: RowBody;
}

/**
 * Work inside one transaction, as a generator that asks for what it needs: SQLite performs it at once, a database across
 * a network with pauses. Usage: `const link = yield* get(LINK, "link")`.
 */
// biome-ignore lint/suspicious/noExplicitAny: what is sent in follows from the statement, which a generator can't say
export type TransactionProgram<T> = Generator<StoreOperation, T, any>;

/** A store that performs work. */
export interface TransactionStore {
  /** All of it or nothing; resolves once it is durable. Emergency work goes first. */
  transact<T>(work: () => TransactionProgram<T>, lane?: "normal" | "emergency"): Promise<T>;
  /** Work that only reads, of one moment: it waits for no writer. */
  read<T>(work: () => TransactionProgram<T>): Promise<T>;
}

/** Declares a collection. */
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

/** Writes a record in place of the one with its key. */
export function* putRecord<R extends object>(of: Collection<R>, record: R): TransactionProgram<void> {
  yield { do: "put", of: of as unknown as Collection<never>, record };
}

/** Removes a record; one that is not there is fine. */
export function* deleteRecord<R>(of: Collection<R>, ...key: KeyPart[]): TransactionProgram<void> {
  yield { do: "drop", of: of as Collection<never>, key };
}

/** Removes all records. */
export function* deleteAllRecords<R>(of: Collection<R>): TransactionProgram<void> {
  yield { do: "clear", of: of as Collection<never> };
}

/** Records in order; all unless `limit` is given. */
export function* scanRecords<R>(of: Collection<R>, range: ScanRange = {}): TransactionProgram<R[]> {
  return yield { do: "scan", of: of as Collection<never>, range };
}

/** The product's own row as it is shown, null when there is none. */
export function* readProductRow(type: string, id: string): TransactionProgram<RowBody | null> {
  return yield { do: "row", type, id };
}

/** Ids of the product's own rows of a resource, in their order, after one of them. */
export function* listProductIds(type: string, after: string | null, limit: number): TransactionProgram<string[]> {
  return yield { do: "ids", type, after, limit };
}

/** Writes (or, with null, removes) the product's own row. What a refused row did is undone. */
export function* applyRow(type: string, id: string, body: RowBody | null): TransactionProgram<ApplyResult> {
  return yield { do: "apply", type, id, body };
}

/**
 * Writes the product's own rows, in order, at a fraction of what it takes one by one, or none of them: false when one would
 * be refused or would have to wait.
 */
export function* applyRows(rows: readonly RowWrite[]): TransactionProgram<boolean> {
  return yield { do: "applyAll", rows };
}

/** Performs work at once; for stores that answer without waiting. */
export function runProgram<T>(work: TransactionProgram<T>, answer: (statement: StoreOperation) => unknown): T {
  let step = work.next();
  while (!step.done) step = work.next(answer(step.value));
  return step.value;
}
