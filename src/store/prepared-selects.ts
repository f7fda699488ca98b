import type Database from "better-sqlite3";
import { CasingCache } from "drizzle-orm/casing";
import { fillPlaceholders, type SQL, sql } from "drizzle-orm/sql";
import type { AnyResource } from "../schema/resource.ts";
import { type Tables, withPlaceholders } from "./drizzle-tables.ts";
import { type AnyRow, createRowShape, type RowShape } from "./row-shape.ts";
import type { VisibilityCondition } from "./store.ts";

/** A select over one declaration, prepared once per distinct condition. */
export interface PreparedSelects {
  shape(resource: AnyResource): RowShape;
  shapeByName(name: string): RowShape;
  /** Rows of `resource` under `where`; `key` names the condition, so equal keys must build equal SQL. */
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

/** What follows FROM. */
export interface SelectClauses {
  where?: SQL | undefined;
  orderBy?: SQL[];
  /**
   * How many rows at most, part of the condition's key. It stands in the text: SQLite (since 3.49) plans with a limit, so it
   * would compile a select anew for each value that is bound to one, which costs several times the reading of a row.
   */
  limit?: number;
  /** Name of the placeholder that holds how many rows are passed over first. */
  skip?: string;
}

const MAX_PREPARED = 2_000;

/**
 * How SQLite writes names, texts and parameters. drizzle's own SQLite dialect would say the same, at the price of loading
 * half of its Postgres part.
 */
const DIALECT = {
  casing: new CasingCache(),
  escapeName: (name: string) => `"${name.replaceAll('"', '""')}"`,
  escapeParam: () => "?",
  escapeString: (text: string) => `'${text.replaceAll("'", "''")}'`,
};

interface Prepared {
  statement: Database.Statement;
  params: unknown[];
}

/** Compiles selects with drizzle and keeps them prepared. */
export function createPreparedSelects(db: Database.Database, tables: Tables): PreparedSelects {
  const shapes = new Map(tables.layouts.map((layout) => [layout.resource.name, createRowShape(layout, tables)]));
  const prepared = new Map<string, Prepared>();
  const shape = (resource: AnyResource): RowShape =>
    shapes.get(resource.name) ?? createRowShape(tables.layout(resource), tables);

  const prepare = (key: string, shapeOf: RowShape, selection: Record<string, SQL>, tail: SelectClauses): Prepared => {
    const found = prepared.get(key);
    if (found) return found;
    const { sql: text, params } = composeSelect(selection, shapeOf.from, tail).toQuery(DIALECT);
    const made = { statement: db.prepare(text).raw(), params };
    // Callers choose the filters, so the number of distinct selects has no bound of its own.
    const oldest = prepared.size >= MAX_PREPARED ? prepared.keys().next().value : undefined;
    if (oldest !== undefined) prepared.delete(oldest);
    prepared.set(key, made);
    return made;
  };

  return {
    shape,
    shapeByName: (name) => shape(tables.catalogue.byName(name)),
    rows(resource, key, build, values) {
      const shapeOf = shape(resource);
      const full = `${resource.name}|rows|${key}`;
      const { statement, params } = prepared.get(full) ?? prepare(full, shapeOf, shapeOf.selection, build(shapeOf));
      return (statement.all(...fillPlaceholders(params, values)) as unknown[][]).map(shapeOf.toRow);
    },
    value(resource, key, what, build, values) {
      const shapeOf = shape(resource);
      const full = `${resource.name}|value|${key}`;
      const { statement, params } = prepared.get(full) ?? prepare(full, shapeOf, { what }, build(shapeOf));
      return (statement.get(...fillPlaceholders(params, values)) as unknown[] | undefined)?.[0];
    },
  };
}

function composeSelect(selection: Record<string, SQL>, from: SQL, { where, orderBy, limit, skip }: SelectClauses): SQL {
  const columns = Object.entries(selection).map(([name, part]) => sql`${part} AS ${sql.identifier(name)}`);
  const query = sql`SELECT ${sql.join(columns, sql`, `)} FROM ${from}`;
  if (where) query.append(sql` WHERE ${where}`);
  if (orderBy) query.append(sql` ORDER BY ${sql.join(orderBy, sql`, `)}`);
  if (limit !== undefined) query.append(sql` LIMIT ${sql.raw(String(limit))}`);
  if (skip) query.append(sql` OFFSET ${sql.placeholder(skip)}`);
  return query;
}

/** What somebody may see as a condition over `t`; undefined = no condition. */
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

/** The condition that a field holds nothing. */
export function fieldIsNull(shape: RowShape, field: string): SQL {
  const column = shape.layout.columnOf(field);
  return column ? sql`${shape.column(column.name)} IS NULL` : sql`1`;
}
