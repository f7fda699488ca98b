import { BugError, ConflictError } from "../base/errors.ts";
import { type Catalogue, tableOf } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { layOut } from "../store/layout.ts";
import type { By, Reader, RoomTable, SqlValue, Store, Transaction } from "../store/store.ts";
import { bodyOf } from "./bodies.ts";
import { HEAD, ROWS } from "./hub/tables.ts";
import { BASE, LINK } from "./site/tables.ts";
import {
  type Applied,
  type Body,
  type Collection,
  type ColumnKind,
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

const SQL_KINDS: Readonly<Record<ColumnKind, string>> = { text: "TEXT", integer: "ANY", json: "TEXT" };

function quoted(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(", ");
}

/** The tables that hold the collections. Whole numbers may be times with digits below one ms. */
export function tablesOf(collections: readonly Collection<never>[]): RoomTable[] {
  return collections.map(({ name, key, columns, indexes }) => {
    const parts = Object.entries(columns as Record<string, ColumnKind>).map(
      ([column, kind]) => `"${column}" ${SQL_KINDS[kind]}`,
    );
    const table = `CREATE TABLE IF NOT EXISTS ${name} (${parts.join(", ")}, PRIMARY KEY (${quoted(key)})) STRICT, WITHOUT ROWID;`;
    const made = Object.entries<readonly string[]>(indexes).map(
      ([index, of]) => `CREATE INDEX IF NOT EXISTS ${name}__${index} ON ${name}(${quoted(of)});`,
    );
    return { name, sql: [table, ...made].join("\n") };
  });
}

/** Binds work to the database: each piece is one write of the store. `by` acts for the other side. */
export function createSqliteWork(store: Store, catalogue: Catalogue, by: By): SqliteWork {
  const replicated: By = { ...by, replicated: true };
  return {
    transact: (work, lane) => store.write((tx) => perform(work(), answering(tx, tx)) as never, lane),
    read: async (work) => perform(work(), answering(store, null)),
    within: (tx, work) => perform(work, answering(tx, tx)),
    peek: (work) => perform(work(), answering(store, null)),
  };

  /** Answers for one piece of work. Records that it asks for again and again are decoded once. */
  function answering(reader: Reader, tx: Transaction | null): (statement: Statement) => unknown {
    const known = new Map<string, unknown>();
    return (statement) => {
      if (statement.do === "get") {
        const name = [statement.of.name, ...statement.key].join("\u0000");
        const found = known.has(name) ? known.get(name) : answer(statement, reader, tx);
        known.set(name, found);
        return found;
      }
      // What a row's behaviours do, may change any record.
      const isReading = statement.do === "scan" || statement.do === "row" || statement.do === "ids";
      if (!isReading) known.clear();
      return answer(statement, reader, tx);
    };
  }

  function answer(statement: Statement, reader: Reader, tx: Transaction | null): unknown {
    switch (statement.do) {
      case "get": {
        const { name, key } = statement.of;
        const where = key.map((column) => `"${column}" = ?`).join(" AND ");
        const found = reader.one(`SELECT * FROM ${name} WHERE ${where}`, ...statement.key);
        return found && decoded(statement.of, found);
      }
      case "scan":
        return scan(statement.of, statement.range, reader);
      case "row":
        return shown(statement.type, statement.id, reader);
      case "ids": {
        const { type, after, limit } = statement;
        if (!catalogue.has(type)) return [];
        const sql = `SELECT id FROM ${tableOf(catalogue.byName(type))} WHERE id > ? ORDER BY id LIMIT ?`;
        return reader.all<{ id: string }>(sql, after ?? "", limit).map(({ id }) => id);
      }
    }
    if (!tx) throw new BugError(`${statement.do} in work that only reads`);
    switch (statement.do) {
      case "put": {
        const { name, columns } = statement.of;
        const names = Object.keys(columns);
        const marks = names.map(() => "?").join(", ");
        const values = encoded(statement.of, statement.record as Record<string, unknown>);
        return tx.run(`INSERT OR REPLACE INTO ${name} (${quoted(names)}) VALUES (${marks})`, ...values);
      }
      case "drop": {
        const { name, key } = statement.of;
        const where = key.map((column) => `"${column}" = ?`).join(" AND ");
        return tx.run(`DELETE FROM ${name} WHERE ${where}`, ...statement.key);
      }
      case "clear":
        return tx.run(`DELETE FROM ${statement.of.name}`);
      case "apply":
        return apply(statement.type, statement.id, statement.body, tx);
    }
  }

  function scan(of: Collection<never>, range: Range, reader: Reader): unknown[] {
    const { by: index, where = [], after, upTo, limit, newestFirst } = range;
    const order: readonly string[] = index ? (of.indexes[index] as readonly string[]) : of.key;
    const conditions = where.map((_, at) => `"${order[at]}" = ?`);
    const params: SqlValue[] = [...where];
    const next = `"${order[where.length]}"`;
    if (after !== undefined) {
      conditions.push(`${next} > ?`);
      params.push(after);
    }
    if (upTo !== undefined) {
      conditions.push(`${next} <= ?`);
      params.push(upTo);
    }
    const columns = [...new Set([...order, ...of.key])].map((column) => `"${column}"${newestFirst ? " DESC" : ""}`);
    const condition = conditions.length > 0 ? ` WHERE ${conditions.join(" AND ")}` : "";
    const sql = `SELECT * FROM ${of.name}${condition} ORDER BY ${columns.join(", ")} LIMIT ?`;
    return reader.all(sql, ...params, limit ?? -1).map((found) => decoded(of, found));
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

  function apply(type: string, id: string, body: Body | null, tx: Transaction): Applied {
    if (!catalogue.has(type)) return { refused: `There are no ${type} here.` };
    const resource = catalogue.byName(type);
    // Whoever deletes a row deletes, or changes, what depends on it, and sends that too.
    if (!body && isHeld(resource, id, tx)) return "wait";
    try {
      tx.apply(resource, id, body as never, replicated);
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

function encoded({ columns }: Collection<never>, record: Record<string, unknown>): SqlValue[] {
  return Object.entries(columns as Record<string, ColumnKind>).map(([name, kind]) => {
    const value = record[name] ?? null;
    return kind === "json" && value !== null ? JSON.stringify(value) : (value as SqlValue);
  });
}

function decoded({ columns }: Collection<never>, found: Record<string, SqlValue>): Record<string, unknown> {
  const record: Record<string, unknown> = { ...found };
  for (const [name, kind] of Object.entries(columns as Record<string, ColumnKind>)) {
    if (kind === "json" && record[name] !== null) record[name] = JSON.parse(record[name] as string);
  }
  return record;
}
