import type Database from "better-sqlite3";
import { and, fillPlaceholders, type SQL, sql } from "drizzle-orm";
import { QueryBuilder } from "drizzle-orm/sqlite-core";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import { createPager } from "./page.ts";
import type { PageTokens } from "./page-token.ts";
import { type AnyRow, equals, type RowShape, shapeRows } from "./rows.ts";
import type { Reader, SqlValue, Visibility } from "./store.ts";
import { type Tables, withPlaceholders } from "./tables.ts";

/** A select over one declaration, prepared once per distinct condition. */
export interface Selects {
  shape(resource: AnyResource): RowShape;
  shapeByName(name: string): RowShape;
  /** Rows of `resource` under `where`; `key` names the condition, so equal keys must build equal SQL. */
  rows(resource: AnyResource, key: string, build: (shape: RowShape) => Tail, values: Record<string, unknown>): AnyRow[];
  /** The first column of the first row of `SELECT <what> FROM resource t WHERE …`. */
  value(
    resource: AnyResource,
    key: string,
    what: SQL,
    build: (shape: RowShape) => Tail,
    values: Record<string, unknown>,
  ): unknown;
}

/** What follows FROM. */
export interface Tail {
  where?: SQL | undefined;
  orderBy?: SQL[];
  /** Name of the placeholder that holds the limit. */
  limit?: string;
}

interface Prepared {
  statement: Database.Statement;
  params: unknown[];
}

/** Compiles selects with drizzle and keeps them prepared. */
export function createSelects(db: Database.Database, tables: Tables): Selects {
  const builder = new QueryBuilder();
  const shapes = new Map(tables.layouts.map((layout) => [layout.resource.name, shapeRows(layout, tables)]));
  const prepared = new Map<string, Prepared>();
  const shape = (resource: AnyResource): RowShape =>
    shapes.get(resource.name) ?? shapeRows(tables.layout(resource), tables);

  const prepare = (key: string, shapeOf: RowShape, selection: Record<string, SQL>, tail: Tail): Prepared => {
    const found = prepared.get(key);
    if (found) return found;
    const aliased = Object.fromEntries(Object.entries(selection).map(([name, part]) => [name, part.as(name)]));
    let query = builder.select(aliased).from(shapeOf.from).where(tail.where).$dynamic();
    if (tail.orderBy) query = query.orderBy(...tail.orderBy);
    if (tail.limit) query = query.limit(sql.placeholder(tail.limit));
    const { sql: text, params } = query.toSQL();
    const made = { statement: db.prepare(text).raw(), params };
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

/** What somebody may see as a condition over `t`; undefined = no condition. */
export function visibilityCondition(visible: Visibility): {
  key: string;
  where: SQL | undefined;
  values: Record<string, unknown>;
} {
  if (visible === "all") return { key: "", where: undefined, values: {} };
  if (visible === "none") return { key: "none", where: sql`0`, values: {} };
  const values = Object.fromEntries(visible.params.map((value, at) => [`v${at}`, value]));
  return { key: visible.sql, where: sql`(${withPlaceholders(visible.sql, "v")})`, values };
}

/** The read side of the store. */
export function createReader(db: Database.Database, selects: Selects, tokens: PageTokens): Reader {
  const raw = new Map<string, Database.Statement>();
  const statement = (text: string): Database.Statement => {
    const found = raw.get(text) ?? db.prepare(text);
    raw.set(text, found);
    return found;
  };
  const page = createPager(selects, tokens);

  return {
    get<R extends AnyResource>(resource: R, id: string, scope?: Parameters<Reader["get"]>[2]) {
      const seen = visibilityCondition(scope ? scope.visible(resource) : "all");
      const rows = selects.rows(
        resource,
        `get|${seen.key}`,
        (shape) => ({ where: and(equals(shape, "id", "id"), seen.where) }),
        { id: id.toLowerCase(), ...seen.values },
      );
      return (rows[0] ?? null) as RowOf<R> | null;
    },
    byPk<R extends AnyResource>(resource: R, pk: number) {
      const rows = selects.rows(resource, "pk", (shape) => ({ where: equals(shape, "pk", "pk") }), { pk });
      return (rows[0] ?? null) as RowOf<R> | null;
    },
    byPks<R extends AnyResource>(resource: R, pks: readonly number[]) {
      const build = (shape: RowShape): Tail => ({
        where: sql`${shape.column("pk")} IN (SELECT value FROM json_each(${sql.placeholder("pks")}))`,
      });
      return selects.rows(resource, "pks", build, { pks: JSON.stringify(pks) }) as unknown as RowOf<R>[];
    },
    find<R extends AnyResource>(resource: R, where: Partial<RowOf<R>>, limit = 1_000) {
      const { key, condition, values } = whereEquals(where);
      return selects.rows(
        resource,
        `find|${key}`,
        (shape) => ({ where: condition(shape), orderBy: [shape.column("pk")], limit: "limit" }),
        { ...values, limit },
      ) as unknown as RowOf<R>[];
    },
    count(resource, where) {
      const { key, condition, values } = whereEquals(where);
      return selects.value(
        resource,
        `count|${key}`,
        sql`count(*)`,
        (shape) => ({ where: condition(shape) }),
        values,
      ) as number;
    },
    page: page as Reader["page"],
    all: <T>(text: string, ...params: SqlValue[]) => statement(text).all(...params) as T[],
    one: <T>(text: string, ...params: SqlValue[]) => (statement(text).get(...params) as T | undefined) ?? null,
  };
}

function whereEquals(where: object): {
  key: string;
  condition: (shape: RowShape) => SQL | undefined;
  values: Record<string, unknown>;
} {
  const entries = Object.entries(where).filter(([, value]) => value !== undefined);
  const values: Record<string, unknown> = {};
  for (const [field, value] of entries) values[field] = typeof value === "boolean" ? Number(value) : value;
  return {
    key: entries.map(([field, value]) => `${field}${value === null ? "?" : ""}`).join(","),
    values,
    condition: (shape) =>
      and(...entries.map(([field, value]) => (value === null ? isNull(shape, field) : equals(shape, field, field)))),
  };
}

/** The condition that a field holds nothing. */
export function isNull(shape: RowShape, field: string): SQL {
  const column = shape.layout.columnOf(field);
  return column ? sql`${shape.column(column.name)} IS NULL` : sql`1`;
}
