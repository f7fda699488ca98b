import type Database from "better-sqlite3";
import { and, type SQL, sql } from "drizzle-orm";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import type { Pager } from "./pager.ts";
import { compileVisibility, fieldIsNull, type PreparedSelects, type SelectClauses } from "./prepared-selects.ts";
import { fieldEquals, type RowShape } from "./row-shape.ts";
import type { SqlValue, StoreReader } from "./store.ts";

/** The read side of the store. */
export function createStoreReader(db: Database.Database, selects: PreparedSelects, pager: Pager): StoreReader {
  const raw = new Map<string, Database.Statement>();
  const statement = (text: string): Database.Statement => {
    const found = raw.get(text) ?? db.prepare(text);
    raw.set(text, found);
    return found;
  };

  return {
    get<R extends AnyResource>(resource: R, id: string, visibility?: Parameters<StoreReader["get"]>[2]) {
      const seen = compileVisibility(visibility ? visibility.visible(resource) : "all");
      const rows = selects.rows(
        resource,
        `get|${seen.key}`,
        (shape) => ({ where: and(fieldEquals(shape, "id", "id"), seen.where) }),
        { id: id.toLowerCase(), ...seen.values },
      );
      return (rows[0] ?? null) as RowOf<R> | null;
    },
    getByPk<R extends AnyResource>(resource: R, pk: number) {
      const rows = selects.rows(resource, "pk", (shape) => ({ where: fieldEquals(shape, "pk", "pk") }), { pk });
      return (rows[0] ?? null) as RowOf<R> | null;
    },
    getByPks<R extends AnyResource>(resource: R, pks: readonly number[]) {
      const build = (shape: RowShape): SelectClauses => ({
        where: sql`${shape.column("pk")} IN (SELECT value FROM json_each(${sql.placeholder("pks")}))`,
      });
      return selects.rows(resource, "pks", build, { pks: JSON.stringify(pks) }) as unknown as RowOf<R>[];
    },
    getByIds<R extends AnyResource>(resource: R, ids: readonly string[]) {
      const build = (shape: RowShape): SelectClauses => ({
        where: sql`${shape.column("id")} IN (SELECT value FROM json_each(${sql.placeholder("ids")}))`,
      });
      return selects.rows(resource, "ids", build, { ids: JSON.stringify(ids) }) as unknown as RowOf<R>[];
    },
    find<R extends AnyResource>(resource: R, where: Partial<RowOf<R>>, limit = 1_000) {
      const { key, condition, values } = whereEquals(where);
      return selects.rows(
        resource,
        `find|${limit}|${key}`,
        (shape) => ({ where: condition(shape), orderBy: [shape.column("pk")], limit }),
        values,
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
    page: pager.page,
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
      and(
        ...entries.map(([field, value]) =>
          value === null ? fieldIsNull(shape, field) : fieldEquals(shape, field, field),
        ),
      ),
  };
}
