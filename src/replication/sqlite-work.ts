import { BugError, ConflictError } from "../base/errors.ts";
import { type Catalogue, tableOf } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { layOut } from "../store/layout.ts";
import type { By, Reader, RoomTable, SqlValue, Store, Transaction } from "../store/store.ts";
import { bodyOf } from "./bodies.ts";
import { HEAD, ROWS } from "./hub/tables.ts";
import { BASE, LINK } from "./site/tables.ts";
import { createTexts, decoded, encoded, inColumns, indexName, nameOf, quoted, type Rec } from "./sqlite-texts.ts";
import {
  type Applied,
  type Body,
  type Collection,
  type ColumnKind,
  type KeyPart,
  type NewRow,
  perform,
  type Range,
  type Statement,
  type Work,
  type WorkStore,
} from "./work.ts";

/** Replication's work on the product's own database. */
export interface SqliteWork extends WorkStore {
  /** Performs work that only reads, at once. */
  peek<T>(work: () => Work<T>): T;
  /** Performs work as a part of an open transaction. */
  within<T>(tx: Transaction, work: Work<T>): T;
}

/** Classes of rows that never travel. */
const STAYS: ReadonlySet<string> = new Set(["local", "E"]);

const SQL_KINDS: Readonly<Record<ColumnKind, string>> = { text: "TEXT", integer: "ANY", json: "TEXT" };

/** The tables that hold the collections. Whole numbers may be times with digits below one ms. */
export function tablesOf(collections: readonly Collection<never>[]): RoomTable[] {
  return collections.map(({ name, key, columns, indexes }) => {
    const parts = Object.entries(columns as Record<string, ColumnKind>).map(
      ([column, kind]) => `"${column}" ${SQL_KINDS[kind]}`,
    );
    const table = `CREATE TABLE IF NOT EXISTS ${name} (${parts.join(", ")}, PRIMARY KEY (${quoted(key)})) STRICT, WITHOUT ROWID;`;
    const made = Object.entries<readonly string[]>(indexes).map(
      ([index, of]) => `CREATE INDEX IF NOT EXISTS ${indexName({ name }, index)} ON ${name}(${quoted(of)});`,
    );
    return { name, sql: [table, ...made].join("\n") };
  });
}

/** A piece of work under way. */
interface OpenWork {
  answer(statement: Statement): unknown;
  /** Writes what it put, of one collection or of all. */
  writeOut(only?: string): void;
}

/** Binds work to the database: each piece is one write of the store. `by` acts for the other side. */
export function createSqliteWork(store: Store, catalogue: Catalogue, by: By): SqliteWork {
  const replicated: By = { ...by, replicated: true };
  const refsOf = new Map<AnyResource, ReturnType<typeof ownRefs>>();
  const texts = createTexts();
  const open = new WeakMap<Transaction, OpenWork>();
  return {
    transact: (work, lane) => store.write((tx) => done(work(), tx, tx) as never, lane),
    async read(work) {
      await store.settled();
      return done(work(), store, null);
    },
    within: (tx, work) => done(work, tx, tx),
    peek: (work) => done(work(), store, null),
  };

  function done<T>(work: Work<T>, reader: Reader, tx: Transaction | null): T {
    // Work that came of a row that work wrote, in the same transaction.
    const outer = tx ? open.get(tx) : undefined;
    const { answer, writeOut } = outer ?? begin(reader, tx);
    if (tx) open.set(tx, { answer, writeOut });
    try {
      const value = perform(work, answer);
      writeOut();
      return value;
    } finally {
      if (tx && !outer) open.delete(tx);
    }
  }

  /**
   * Answers for one piece of work. Records that it asks for again and again are read once, and those that it writes again
   * and again are written once: at its end, or before whatever could see that they are not there yet.
   */
  function begin(reader: Reader, tx: Transaction | null): OpenWork {
    const known = new Map<string, unknown>();
    const unwritten = new Map<string, { of: Collection<never>; record: Rec }>();

    function writeOut(only?: string): void {
      for (const [name, { of, record }] of unwritten) {
        if (only !== undefined && of.name !== only) continue;
        unwritten.delete(name);
        tx?.run(texts(of).put, ...encoded(texts(of), record));
      }
    }

    function read({ of, key }: Statement & { do: "get" }): unknown {
      const name = nameOf(of, key);
      const found = known.get(name);
      if (found !== undefined) return found;
      const { get, json } = texts(of);
      const row = reader.one<Rec>(get, ...key);
      known.set(name, row && decoded(json, row));
      return known.get(name);
    }

    function write(
      statement: Statement & { do: "put" | "drop" | "clear" | "apply" | "applyAll" },
      tx: Transaction,
    ): unknown {
      switch (statement.do) {
        case "put": {
          const record = inColumns(texts(statement.of), statement.record as Rec);
          const name = nameOf(
            statement.of,
            (statement.of.key as readonly string[]).map((part) => record[part] as KeyPart),
          );
          known.set(name, record);
          return unwritten.set(name, { of: statement.of, record });
        }
        case "drop": {
          const name = nameOf(statement.of, statement.key);
          known.set(name, null);
          unwritten.delete(name);
          return tx.run(texts(statement.of).drop, ...statement.key);
        }
        case "clear":
          writeOut();
          known.clear();
          return tx.run(`DELETE FROM ${statement.of.name}`);
        case "apply": {
          writeOut();
          const applied = apply(statement.type, statement.id, statement.body, tx);
          // What a row's behaviours do, may change any record.
          known.clear();
          return applied;
        }
        case "applyAll": {
          writeOut();
          const isDone = applyAll(statement.rows, tx);
          known.clear();
          return isDone;
        }
      }
    }

    function answer(statement: Statement): unknown {
      switch (statement.do) {
        case "get":
          return read(statement);
        case "scan":
          writeOut(statement.of.name);
          return scan(statement.of, statement.range, reader);
        case "row":
          return shown(statement.type, statement.id, reader);
        case "ids":
          return idsOf(statement, reader);
        default:
          if (!tx) throw new BugError(`${statement.do} in work that only reads`);
          return write(statement, tx);
      }
    }
    return { answer, writeOut };
  }

  function idsOf({ type, after, limit }: Statement & { do: "ids" }, reader: Reader): string[] {
    if (!catalogue.has(type)) return [];
    const sql = `SELECT id FROM ${tableOf(catalogue.byName(type))} WHERE id > ? ORDER BY id LIMIT ${limit}`;
    return reader.all<{ id: string }>(sql, after ?? "").map(({ id }) => id);
  }

  function scan(of: Collection<never>, range: Range, reader: Reader): unknown[] {
    const { where = [], after, upTo } = range;
    const params: SqlValue[] = [...where];
    if (after !== undefined) params.push(after);
    if (upTo !== undefined) params.push(upTo);
    const { scan: textOf, json } = texts(of);
    const found = reader.all<Rec>(textOf(range), ...params);
    return json.length === 0 ? found : found.map((record) => decoded(json, record));
  }

  function shown(type: string, id: string, reader: Reader): Body | null {
    if (!catalogue.has(type)) return null;
    const resource = catalogue.byName(type);
    const row = reader.get(resource, id) as Record<string, unknown> | null;
    return row && bodyOf(resource, row);
  }

  /** Whether a cloud-owned row still refers to it. */
  function isHeld(resource: AnyResource, id: string, reader: Reader): boolean {
    return catalogue.inbound(resource).some(({ from, field }) => {
      if (from.replicate !== "A" && from.replicate !== "B") return false;
      const { table, links, columnOf } = layOut(from, catalogue);
      const link = links.find((each) => each.field === field);
      const holder = link ? `${link.table} WHERE target` : `main.${table} WHERE "${columnOf(field)?.name}"`;
      return (
        reader.one(`SELECT 1 FROM ${holder} = (SELECT pk FROM ${tableOf(resource)} WHERE id = ?) LIMIT 1`, id) !== null
      );
    });
  }

  /** Its references to what each side has for itself. */
  function ownRefs(resource: AnyResource): readonly (readonly [field: string, to: AnyResource])[] {
    const known = refsOf.get(resource);
    if (known) return known;
    const found = Object.entries(resource.fields).flatMap(([name, field]) => {
      const to = field.kind === "ref" ? catalogue.byName(field.to) : null;
      return to && STAYS.has(to.replicate) ? [[name, to] as const] : [];
    });
    refsOf.set(resource, found);
    return found;
  }

  /** What each side has for itself, such as a voice, may be missing here: then the row does without. */
  function withoutMissing(resource: AnyResource, body: Body, reader: Reader): Body {
    const missing = ownRefs(resource).filter(([field, to]) => body[field] && !reader.get(to, String(body[field])));
    return missing.length === 0 ? body : { ...body, ...Object.fromEntries(missing.map(([field]) => [field, null])) };
  }

  function applyAll(rows: readonly NewRow[], tx: Transaction): boolean {
    if (rows.some(({ type }) => !catalogue.has(type))) return false;
    const resolved = rows.map(({ type, id, body }) => {
      const resource = catalogue.byName(type);
      return { resource, id, row: withoutMissing(resource, body, tx) };
    });
    return tx.applyAll(resolved, replicated);
  }

  function apply(type: string, id: string, body: Body | null, tx: Transaction): Applied {
    if (!catalogue.has(type)) return { refused: `There are no ${type} here.` };
    const resource = catalogue.byName(type);
    // Whoever deletes a row deletes, or changes, what depends on it, and sends that too.
    if (!body && isHeld(resource, id, tx)) return "wait";
    try {
      tx.apply(resource, id, (body && withoutMissing(resource, body, tx)) as never, replicated);
      return "done";
    } catch (error) {
      return reasonOf(error);
    }
  }
}

/**
 * Replication markers by id: the feed's incarnation and the row's number in it, which are equal on both sides once they
 * have the same version. Rows that never were in the feed have none.
 * @source replication.md 3
 */
export function syncIdsOf(reader: Reader, type: string, ids: readonly string[]): Map<string, string> {
  const found = reader.all<{ id: string; epoch: string | null; seq: number }>(
    `SELECT id, (SELECT epoch FROM ${LINK.name}) AS epoch, seq FROM ${BASE.name}
       WHERE type = ? AND id IN (SELECT value FROM json_each(?))
     UNION ALL SELECT id, (SELECT epoch FROM ${HEAD.name}), seq FROM ${ROWS.name}
       WHERE type = ? AND gone = 0 AND id IN (SELECT value FROM json_each(?))`,
    ...[type, JSON.stringify(ids), type, JSON.stringify(ids)],
  );
  return new Map(found.flatMap(({ id, epoch, seq }) => (epoch ? [[id, `${epoch.slice(0, 8)}.${seq}`]] : [])));
}

/** Names that are taken and references that lead nowhere may be right a few rows later. */
function reasonOf(error: unknown): Applied {
  const { type, message } = error as { type?: string; message: string };
  if (error instanceof ConflictError || type === "invalid-value") return "wait";
  // Carillon's own faults and those of the disk are no fault of the row.
  if (type === undefined || type === "bug") throw error;
  return { refused: message };
}
