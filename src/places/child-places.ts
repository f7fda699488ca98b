import { tableName } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { PresentContext, SqlValue } from "../store/store.ts";
import { buildVisibilitySql } from "../store/visibility-sql.ts";

/** What lies within places: rows of `resource` by the level of which `column` holds the internal key. */
export interface ChildPlaceQuery {
  resource: AnyResource;
  column: string;
  /** SQL of the members shown: `t.name`, `t.external_id AS externalId`. */
  members: string;
  order: string;
  /** SQL over `t` that they fulfil. */
  condition?: string;
}

/** What lies within each of the places, as far as the asker sees it, in order; one query for all of them. */
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

/** How much lies within each of the places, as far as the asker sees it. */
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
