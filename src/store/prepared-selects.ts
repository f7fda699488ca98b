import type Database from "better-sqlite3";
import { fillPlaceholders, type SQL, sql } from "drizzle-orm";
import { SQLiteSyncDialect } from "drizzle-orm/sqlite-core";
import { setBounded } from "../lib/bounded-map.ts";
import { markWork } from "../lib/current-work.ts";
import type { AnyResource } from "../schema/resource.ts";
import { type AnyRow, createRowShape, type RowShape } from "./row-shape.ts";
import type { VisibilityCondition } from "./store.ts";
import type { Tables } from "./tables.ts";

/** Selects over one resource, prepared once per distinct condition. */
export interface PreparedSelects {
  shape(resource: AnyResource): RowShape;
  shapeByName(name: string): RowShape;
  /** Rows of `resource`. `key` is the cache key of the condition: equal keys must build equal SQL. */
  rows(
    resource: AnyResource,
    key: string,
    build: (shape: RowShape) => SelectClauses,
    values: Record<string, unknown>,
  ): AnyRow[];
  /** The first column of the first row of `SELECT <what> FROM resource t WHERE …`. */
  value(
    resource: AnyResource,
    key: string,
    what: SQL,
    build: (shape: RowShape) => SelectClauses,
    values: Record<string, unknown>,
  ): unknown;
}

/** The clauses after FROM. */
export interface SelectClauses {
  where?: SQL | undefined;
  orderBy?: SQL[];
  /**
   * Row limit, part of the cache key. It is a literal in the SQL: since 3.49 SQLite plans with the limit and would
   * recompile the statement for each bound value, which costs several times the reading of a row.
   */
  limit?: number;
  /** Name of the placeholder for OFFSET. */
  skip?: string;
  /**
   * Finds the keys of the rows first and reads only the rows of the result. Otherwise SQLite reads all columns of every
   * row that it sorts, with a lookup for each reference.
   */
  keysFirst?: boolean;
}

const MAX_PREPARED = 2_000;

/** Renders expressions as SQL of SQLite. */
const DIALECT = new SQLiteSyncDialect();

interface Prepared {
  statement: Database.Statement;
  params: unknown[];
}

/** Compiles selects with drizzle and caches the prepared statements. */
export function createPreparedSelects(db: Database.Database, tables: Tables): PreparedSelects {
  const shapes = new Map(tables.layouts.map((layout) => [layout.resource.name, createRowShape(layout, tables)]));
  const prepared = new Map<string, Prepared>();
  const shape = (resource: AnyResource): RowShape =>
    shapes.get(resource.name) ?? createRowShape(tables.layout(resource), tables);

  const prepare = (key: string, shapeOf: RowShape, selection: Record<string, SQL>, tail: SelectClauses): Prepared => {
    const found = prepared.get(key);
    if (found) return found;
    const { sql: text, params } = DIALECT.sqlToQuery(composeSelect(selection, shapeOf.from, tail));
    const made = { statement: db.prepare(text).raw(), params };
    // Callers choose the filters, so the number of distinct selects is unbounded.
    setBounded(prepared, key, made, MAX_PREPARED);
    return made;
  };

  return {
    shape,
    shapeByName: (name) => shape(tables.catalogue.byName(name)),
    rows(resource, key, build, values) {
      markWork();
      const shapeOf = shape(resource);
      const full = `${resource.name}|rows|${key}`;
      const { statement, params } = prepared.get(full) ?? prepare(full, shapeOf, shapeOf.selection, build(shapeOf));
      return (statement.all(...fillPlaceholders(params, values)) as unknown[][]).map(shapeOf.toRow);
    },
    value(resource, key, what, build, values) {
      markWork();
      const shapeOf = shape(resource);
      const full = `${resource.name}|value|${key}`;
      const { statement, params } = prepared.get(full) ?? prepare(full, shapeOf, { what }, build(shapeOf));
      return (statement.get(...fillPlaceholders(params, values)) as unknown[] | undefined)?.[0];
    },
  };
}

function composeSelect(selection: Record<string, SQL>, from: SQL, clauses: SelectClauses): SQL {
  const columns = sql.join(
    Object.entries(selection).map(([name, part]) => sql`${part} AS ${sql.identifier(name)}`),
    sql`, `,
  );
  if (!clauses.keysFirst) return withClauses(sql`SELECT ${columns} FROM ${from}`, clauses);
  const keys = withClauses(sql`SELECT t."pk" AS "key" FROM ${from}`, clauses);
  // CROSS JOIN: the keys must drive the query, whatever index would give the order.
  const query = sql`SELECT ${columns} FROM (${keys}) CROSS JOIN ${from} ON t."pk" = "key"`;
  return withClauses(query, clauses.orderBy ? { orderBy: clauses.orderBy } : {});
}

function withClauses(query: SQL, { where, orderBy, limit, skip }: SelectClauses): SQL {
  if (where) query.append(sql` WHERE ${where}`);
  if (orderBy) query.append(sql` ORDER BY ${sql.join(orderBy, sql`, `)}`);
  if (limit !== undefined) query.append(sql` LIMIT ${sql.raw(String(limit))}`);
  if (skip) query.append(sql` OFFSET ${sql.placeholder(skip)}`);
  return query;
}

/** Compiles visibility to a condition over `t`; undefined means no condition. */
export function compileVisibility(visible: VisibilityCondition): {
  key: string;
  where: SQL | undefined;
  values: Record<string, unknown>;
} {
  if (visible === "all") return { key: "", where: undefined, values: {} };
  if (visible === "none") return { key: "none", where: sql`0`, values: {} };
  const values = Object.fromEntries(visible.params.map((value, at) => [`v${at}`, value]));
  return { key: visible.sql, where: sql`(${withPlaceholders(visible.sql, "v")})`, values };
}

/** Raw SQL with `?` turned into the named placeholders `<prefix>0`, `<prefix>1` …, in order. */
function withPlaceholders(rawSql: string, prefix: string): SQL {
  const parts = rawSql.split("?");
  const chunks: SQL[] = [];
  parts.forEach((part, at) => {
    chunks.push(sql.raw(part));
    if (at < parts.length - 1) chunks.push(sql`${sql.placeholder(`${prefix}${at}`)}`);
  });
  return sql.join(chunks);
}

const ALWAYS_SET: ReadonlySet<string> = new Set(["id", "pk", "createdAt", "updatedAt"]);

/** The condition that a field is unset. */
export function fieldIsNull(shape: RowShape, field: string): SQL {
  if (field === "domainId" && "domainId" in shape.selection && !shape.layout.columnOf(field))
    return sql`${shape.column("domain_pk")} IS NULL`;
  if (ALWAYS_SET.has(field)) return sql`0`;
  const link = shape.layout.links.find((candidate) => candidate.field === field);
  if (link) return sql`${shape.column("pk")} NOT IN (SELECT l.owner FROM ${sql.raw(link.table)} l)`;
  const column = shape.layout.columnOf(field);
  return column ? sql`${shape.column(column.name)} IS NULL` : sql`1`;
}
