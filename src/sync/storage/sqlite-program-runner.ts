import { BugError, ConflictError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { type Catalogue, tableName } from "../../schema/catalogue.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { ActorContext, InternalTable, SqlValue, Store, StoreReader, Transaction } from "../../store/store.ts";
import { buildTableLayout } from "../../store/table-layout.ts";
import { FEED_HEAD, FEED_RECORDS } from "../hub/tables.ts";
import { replicatedBody, storedBody } from "../protocol/replicated-body.ts";
import { mayHaveSecrets, SECRET_MARKS } from "../protocol/secret-marks.ts";
import { recordSecretMarks } from "../site/secret-marks.ts";
import { APPLIED_VERSIONS, SYNC_STATE } from "../site/tables.ts";
import {
  createStatementCache,
  decodeRecord,
  encodeRecord,
  indexName,
  quoteColumns,
  recordKey,
  type StoredRecord,
  toColumns,
} from "./sqlite-statements.ts";
import {
  type ApplyResult,
  type Collection,
  type ColumnType,
  type KeyPart,
  type ReferringRows,
  type RowBody,
  type RowWrite,
  runProgram,
  type ScanRange,
  type SiteChange,
  type StoreOperation,
  type TransactionProgram,
  type TransactionStore,
} from "./transaction-program.ts";

/** Runs transaction programs on the product's own database. */
export interface SqliteProgramRunner extends TransactionStore {
  /** Runs a read-only program synchronously. */
  readSync<T>(program: () => TransactionProgram<T>): T;
  /** Runs a program inside an open transaction. */
  runWithin<T>(tx: Transaction, program: TransactionProgram<T>): T;
}

/** Replication classes that are never sent. */
const LOCAL_CLASSES: ReadonlySet<string> = new Set(["local", "E"]);

const SQL_TYPES: Readonly<Record<ColumnType, string>> = { text: "TEXT", integer: "ANY", json: "TEXT" };

/** SQL tables of the collections. Integer columns are of type ANY, because times may have fractions of a ms. */
export function collectionTables(collections: readonly Collection<never>[]): InternalTable[] {
  return collections.map(({ name, key, columns, indexes }) => {
    const parts = Object.entries(columns as Record<string, ColumnType>).map(
      ([column, kind]) => `"${column}" ${SQL_TYPES[kind]}`,
    );
    const table = `CREATE TABLE IF NOT EXISTS ${name} (${parts.join(", ")}, PRIMARY KEY (${quoteColumns(key)})) STRICT, WITHOUT ROWID;`;
    const made = Object.entries<readonly string[]>(indexes).map(
      ([index, of]) => `CREATE INDEX IF NOT EXISTS ${indexName({ name }, index)} ON ${name}(${quoteColumns(of)});`,
    );
    return { name, sql: [table, ...made].join("\n") };
  });
}

/** A running program. */
interface OpenProgram {
  execute(statement: StoreOperation): unknown;
  /** Writes pending puts of one collection, or of all. */
  flush(only?: string): void;
}

/** Judges changes of appliances; only the cloud's runner has one. */
type Judge = (change: SiteChange, reader: StoreReader) => string | null;

/**
 * Binds transaction programs to the database: each is one write of the store. `by` is the actor of replicated writes.
 */
export function createSqliteProgramRunner(
  store: Store,
  catalogue: Catalogue,
  by: ActorContext,
  judge: Judge | null = null,
): SqliteProgramRunner {
  const replicated: ActorContext = { ...by, replicated: true };
  const refsOf = new Map<AnyResource, ReturnType<typeof localReferences>>();
  const texts = createStatementCache();
  const open = new WeakMap<Transaction, OpenProgram>();
  return {
    transact: (program, lane) => store.write((tx) => run(program(), tx, tx) as never, lane),
    async read(program) {
      await store.whenSettled();
      return run(program(), store, null);
    },
    runWithin: (tx, program) => run(program, tx, tx),
    readSync: (program) => run(program(), store, null),
  };

  function run<T>(program: TransactionProgram<T>, reader: StoreReader, tx: Transaction | null): T {
    // A nested program: a hook of a row that the outer program wrote, in the same transaction.
    const outer = tx ? open.get(tx) : undefined;
    const { execute, flush } = outer ?? createExecution(reader, tx);
    if (tx) open.set(tx, { execute, flush });
    try {
      const value = runProgram(program, execute);
      flush();
      return value;
    } finally {
      if (tx && !outer) open.delete(tx);
    }
  }

  /**
   * Executes the operations of one program. Records are cached, and repeated writes of one record are collapsed: they
   * are written at the end, or before an operation that could observe that they are missing.
   */
  function createExecution(reader: StoreReader, tx: Transaction | null): OpenProgram {
    const known = new Map<string, unknown>();
    const unwritten = new Map<string, { of: Collection<never>; record: StoredRecord }>();

    function flush(only?: string): void {
      for (const [name, { of, record }] of unwritten) {
        if (only !== undefined && of.name !== only) continue;
        unwritten.delete(name);
        tx?.run(texts(of).put, ...encodeRecord(texts(of), record));
      }
    }

    function read({ of, key }: StoreOperation & { do: "get" }): unknown {
      const name = recordKey(of, key);
      const found = known.get(name);
      if (found !== undefined) return found;
      const { get, json } = texts(of);
      const row = reader.one<StoredRecord>(get, ...key);
      known.set(name, row && decodeRecord(json, row));
      return known.get(name);
    }

    function write(
      statement: StoreOperation & { do: "put" | "drop" | "clear" | "apply" | "applyAll" },
      tx: Transaction,
    ): unknown {
      switch (statement.do) {
        case "put": {
          const record = toColumns(texts(statement.of), statement.record as StoredRecord);
          const name = recordKey(
            statement.of,
            (statement.of.key as readonly string[]).map((part) => record[part] as KeyPart),
          );
          known.set(name, record);
          return unwritten.set(name, { of: statement.of, record });
        }
        case "drop": {
          const name = recordKey(statement.of, statement.key);
          known.set(name, null);
          unwritten.delete(name);
          return tx.run(texts(statement.of).drop, ...statement.key);
        }
        case "clear":
          flush();
          known.clear();
          return tx.run(`DELETE FROM ${statement.of.name}`);
        case "apply": {
          flush();
          const applied = apply(statement.type, statement.id, statement.body, tx);
          // Hooks of the row may have changed any record.
          known.clear();
          return applied;
        }
        case "applyAll": {
          flush();
          const isDone = applyAll(statement.rows, tx);
          known.clear();
          return isDone;
        }
      }
    }

    function execute(statement: StoreOperation): unknown {
      switch (statement.do) {
        case "get":
          return read(statement);
        case "scan":
          flush(statement.of.name);
          return scan(statement.of, statement.range, reader);
        case "row":
          return readProductRow(statement.type, statement.id, reader);
        case "ids":
          return idsOf(statement, reader);
        case "referring":
          return referringRows(statement, reader);
        case "judge":
          if (!judge) throw new BugError("only the cloud takes changes of appliances");
          return judge(statement.change, reader);
        default:
          if (!tx) throw new BugError(`Operation ${statement.do} is not allowed in a read-only program`);
          return write(statement, tx);
      }
    }
    return { execute, flush };
  }

  function idsOf({ type, after, limit }: StoreOperation & { do: "ids" }, reader: StoreReader): string[] {
    if (!catalogue.has(type)) return [];
    const sql = `SELECT id FROM ${tableName(catalogue.byName(type))} WHERE id > ? ORDER BY id LIMIT ${limit}`;
    return reader.all<{ id: string }>(sql, after ?? "").map(({ id }) => id);
  }

  /** One reference after the other, each in the order of the rows' keys, so that a part costs what it returns. */
  function referringRows(
    { type, id, from, limit }: StoreOperation & { do: "referring" },
    reader: StoreReader,
  ): ReferringRows {
    const resource = catalogue.has(type) ? catalogue.byName(type) : null;
    const references = resource ? catalogue.inboundReferences(resource) : [];
    const [index = 0, after = 0] = (from ?? "").split("/").map(Number);
    const reference = references[index];
    if (!resource || !reference) return { rows: [], next: null };
    const { table, links, columnOf } = buildTableLayout(reference.from, catalogue);
    const link = links.find((each) => each.field === reference.field);
    const holders = link
      ? `${link.table} AS h JOIN main.${table} AS r ON r.pk = h.owner WHERE h.target`
      : `main.${table} AS r WHERE r."${columnOf(reference.field)?.name}"`;
    const found = reader.all<{ pk: number; id: string }>(
      `SELECT r.pk, r.id FROM ${holders} = (SELECT pk FROM ${tableName(resource)} WHERE id = ?) AND r.pk > ?
         ORDER BY r.pk LIMIT ${limit}`,
      ...[id, after],
    );
    const isAll = found.length < limit;
    const next = isAll ? `${index + 1}/0` : `${index}/${found.at(-1)?.pk}`;
    return {
      rows: found.map((row) => ({ type: reference.from.name, id: row.id })),
      next: isAll && index + 1 === references.length ? null : next,
    };
  }

  function scan(of: Collection<never>, range: ScanRange, reader: StoreReader): unknown[] {
    const { where = [], after, upTo } = range;
    const params: SqlValue[] = [...where];
    if (after !== undefined) params.push(after);
    if (upTo !== undefined) params.push(upTo);
    const { scan: textOf, json } = texts(of);
    const found = reader.all<StoredRecord>(textOf(range), ...params);
    return json.length === 0 ? found : found.map((record) => decodeRecord(json, record));
  }

  function readProductRow(type: string, id: string, reader: StoreReader): RowBody | null {
    if (!catalogue.has(type)) return null;
    const resource = catalogue.byName(type);
    const row = reader.get(resource, id) as Record<string, unknown> | null;
    return row && replicatedBody(resource, row);
  }

  /** Whether a cloud-owned row still refers to it. */
  function isReferenced(resource: AnyResource, id: string, reader: StoreReader): boolean {
    return catalogue.inboundReferences(resource).some(({ from, field }) => {
      if (from.replicate !== "A" && from.replicate !== "B") return false;
      const { table, links, columnOf } = buildTableLayout(from, catalogue);
      const link = links.find((each) => each.field === field);
      const holder = link ? `${link.table} WHERE target` : `main.${table} WHERE "${columnOf(field)?.name}"`;
      return (
        reader.one(`SELECT 1 FROM ${holder} = (SELECT pk FROM ${tableName(resource)} WHERE id = ?) LIMIT 1`, id) !==
        null
      );
    });
  }

  /** References to resources that are local to each side. */
  function localReferences(resource: AnyResource): readonly (readonly [field: string, to: AnyResource])[] {
    const known = refsOf.get(resource);
    if (known) return known;
    const found = Object.entries(resource.fields).flatMap(([name, field]) => {
      const to = field.kind === "ref" ? catalogue.byName(field.to) : null;
      return to && LOCAL_CLASSES.has(to.replicate) ? [[name, to] as const] : [];
    });
    refsOf.set(resource, found);
    return found;
  }

  /** Clears references to local rows (such as a voice) that do not exist here. */
  function withoutMissingReferences(resource: AnyResource, body: RowBody, reader: StoreReader): RowBody {
    const missing = localReferences(resource).filter(
      ([field, to]) => body[field] && !reader.get(to, String(body[field])),
    );
    return missing.length === 0 ? body : { ...body, ...Object.fromEntries(missing.map(([field]) => [field, null])) };
  }

  /** The stored values of a received row; null if one is invalid. */
  function storedValues(resource: AnyResource, body: RowBody, reader: StoreReader): RowBody | null {
    const row = storedBody(resource, body);
    return row && withoutMissingReferences(resource, row, reader);
  }

  /** Whether an appliance notes which secrets of the row the cloud has. */
  function hasMarks(resource: AnyResource, body: RowBody | null): boolean {
    return judge === null && mayHaveSecrets(resource) && (body === null || SECRET_MARKS in body);
  }

  function applyAll(rows: readonly RowWrite[], tx: Transaction): boolean {
    const resolved = [];
    const marked = [];
    for (const { type, id, body } of rows) {
      const resource = catalogue.has(type) ? catalogue.byName(type) : null;
      const row = resource && storedValues(resource, body, tx);
      if (!resource || !row) return false;
      resolved.push({ resource, id, row });
      if (hasMarks(resource, body)) marked.push({ resource, id, body, before: tx.get(resource, id) as RowBody | null });
    }
    if (!tx.applyAll(resolved, replicated)) return false;
    for (const { resource, id, ...of } of marked) recordSecretMarks(tx, resource, id, of);
    return true;
  }

  function apply(type: string, id: string, body: RowBody | null, tx: Transaction): ApplyResult {
    if (!catalogue.has(type)) return { refused: sentence("sync.type-unknown", { type }) };
    const resource = catalogue.byName(type);
    // The side that deletes a row also deletes or changes its dependents, and sends those changes.
    if (!body && isReferenced(resource, id, tx)) return "wait";
    const row = body && storedValues(resource, body, tx);
    if (body && !row) return { refused: sentence("sync.hash-invalid") };
    const before = hasMarks(resource, body) ? (tx.get(resource, id) as RowBody | null) : null;
    try {
      tx.apply(resource, id, row as never, replicated);
      if (hasMarks(resource, body)) recordSecretMarks(tx, resource, id, { body, before });
      return "done";
    } catch (error) {
      return toApplyResult(error);
    }
  }
}

/**
 * Sync ids by row id: epoch and sequence number of the row, equal on both sides once they have the same version. Rows
 * that were never in the feed have none.
 * @source docs/decisions/0040-replication.md, Section 3
 */
export function readSyncIds(reader: StoreReader, type: string, ids: readonly string[]): Map<string, string> {
  const found = reader.all<{ id: string; epoch: string | null; seq: number }>(
    `SELECT id, (SELECT epoch FROM ${SYNC_STATE.name}) AS epoch, seq FROM ${APPLIED_VERSIONS.name}
       WHERE type = ? AND id IN (SELECT value FROM json_each(?))
     UNION ALL SELECT id, (SELECT epoch FROM ${FEED_HEAD.name}), seq FROM ${FEED_RECORDS.name}
       WHERE type = ? AND gone = 0 AND id IN (SELECT value FROM json_each(?))`,
    ...[type, JSON.stringify(ids), type, JSON.stringify(ids)],
  );
  return new Map(found.flatMap(({ id, epoch, seq }) => (epoch ? [[id, `${epoch.slice(0, 8)}.${seq}`]] : [])));
}

/** Name conflicts and dangling references may resolve a few rows later. */
function toApplyResult(error: unknown): ApplyResult {
  const { type, message } = error as { type?: string; message: string };
  if (error instanceof ConflictError || type === "invalid-value") return "wait";
  // Bugs and disk errors are not caused by the row.
  if (type === undefined || type === "bug") throw error;
  return { refused: message };
}
