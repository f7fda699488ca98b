import { tableName } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { PresentContext, SqlValue } from "../store/store.ts";
import { buildVisibilitySql } from "../store/visibility-sql.ts";

/** Children of places: rows of `resource` whose `column` holds the internal key of the parent. */
export interface ChildPlaceQuery {
  resource: AnyResource;
  column: string;
  /** SQL of the selected members: `t.name`, `t.external_id AS externalId`. */
  members: string;
  order: string;
  /** SQL condition over `t`. */
  condition?: string;
}

/** Sorted children of each place, as far as the caller may read them; one query for all places. */
export function childPlacesOf(
  { resource, column, members, order, condition = "1" }: ChildPlaceQuery,
  pks: readonly number[],
  { reader, scope }: PresentContext,
): (pk: number) => Record<string, unknown>[] {
  const { sql, params } = buildVisibilitySql(scope.visible(resource));
  const lines = reader.all<Record<string, SqlValue>>(
    `SELECT t.${column} AS within, ${members} FROM ${tableName(resource)} t
     WHERE t.${column} IN (SELECT value FROM json_each(?)) AND ${condition} AND ${sql} ORDER BY ${order}`,
    JSON.stringify(pks),
    ...params,
  );
  const found = new Map<number, Record<string, unknown>[]>();
  for (const { within, ...row } of lines) {
    const rows = found.get(within as number) ?? [];
    rows.push(row);
    found.set(within as number, rows);
  }
  return (pk) => found.get(pk) ?? [];
}

/** Number of children of each place, as far as the caller may read them. */
export function childPlaceCounts(
  { resource, column }: Pick<ChildPlaceQuery, "resource" | "column">,
  pks: readonly number[],
  { reader, scope }: PresentContext,
): (pk: number) => number {
  const { sql, params } = buildVisibilitySql(scope.visible(resource));
  const lines = reader.all<{ within: number; n: number }>(
    `SELECT t.${column} AS within, count(*) AS n FROM ${tableName(resource)} t
     WHERE t.${column} IN (SELECT value FROM json_each(?)) AND ${sql} GROUP BY t.${column}`,
    JSON.stringify(pks),
    ...params,
  );
  const found = new Map(lines.map(({ within, n }) => [within, n]));
  return (pk) => found.get(pk) ?? 0;
}
