import { tableOf } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { seenSql } from "../store/seen.ts";
import type { PresentContext, SqlValue } from "../store/store.ts";

/** What lies within places: rows of `resource` by the level of which `column` holds the internal key. */
export interface Nesting {
  resource: AnyResource;
  column: string;
  /** SQL of the members shown: `t.name`, `t.external_id AS externalId`. */
  members: string;
  order: string;
  /** SQL over `t` that they fulfil. */
  only?: string;
}

/** What lies within each of the places, as far as the asker sees it, in order; one query for all of them. */
export function nestedIn(
  { resource, column, members, order, only = "1" }: Nesting,
  pks: readonly number[],
  { reader, scope }: PresentContext,
): (pk: number) => Record<string, unknown>[] {
  const { sql, params } = seenSql(scope.visible(resource));
  const lines = reader.all<Record<string, SqlValue>>(
    `SELECT t.${column} AS within, ${members} FROM ${tableOf(resource)} t
     WHERE t.${column} IN (SELECT value FROM json_each(?)) AND ${only} AND ${sql} ORDER BY ${order}`,
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
export function totalsIn(
  { resource, column }: Pick<Nesting, "resource" | "column">,
  pks: readonly number[],
  { reader, scope }: PresentContext,
): (pk: number) => number {
  const { sql, params } = seenSql(scope.visible(resource));
  const lines = reader.all<{ within: number; n: number }>(
    `SELECT t.${column} AS within, count(*) AS n FROM ${tableOf(resource)} t
     WHERE t.${column} IN (SELECT value FROM json_each(?)) AND ${sql} GROUP BY t.${column}`,
    JSON.stringify(pks),
    ...params,
  );
  const found = new Map(lines.map(({ within, n }) => [within, n]));
  return (pk) => found.get(pk) ?? 0;
}
