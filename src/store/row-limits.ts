import type { Clock } from "../lib/clock.ts";
import { LimitError } from "../lib/errors.ts";
import { collectionName } from "../schema/catalogue.ts";
import type { AnyRow } from "./row-shape.ts";
import type { StoreReader } from "./store.ts";
import type { TableLayout } from "./table-layout.ts";

/** How many rows there may be. */
export interface RowLimits {
  /** Counts a row that is about to be stored. Throws LimitError when there are as many as there may be. */
  check(layout: TableLayout, row: AnyRow): void;
  /** True for a row that no longer counts against its limit. */
  hasEnded(layout: TableLayout, row: AnyRow): boolean;
  /** Must be called when rows were removed, or anything written was rolled back. */
  resetCounts(): void;
}

/** Makes the limits of one database. */
export function createRowLimits(reader: StoreReader, clock: Clock): RowLimits {
  /** Rows by table and parent; dropped whenever it could be wrong. */
  const counts = new Map<string, number>();

  function check(layout: TableLayout, row: AnyRow): void {
    const { limit } = layout.resource;
    if (!limit || hasEnded(layout, row)) return;
    const parent = limit.per ? (row[limit.per] as string | null) : null;
    const key = `${layout.table}|${parent ?? ""}`;
    let count = counts.get(key) ?? countRows(layout, parent);
    // Some may have ended since they were counted.
    if (count >= limit.most && limit.until) count = countRows(layout, parent);
    if (count >= limit.most) throw new LimitError(limit.most, collectionName(layout.resource));
    counts.set(key, count + 1);
  }

  function countRows(layout: TableLayout, parent: string | null): number {
    const { per, until } = layout.resource.limit ?? {};
    const column = per ? layout.columnOf(per) : undefined;
    const end = until ? layout.columnOf(until)?.name : undefined;
    const conditions = [
      ...(column ? [`${column.name} = (SELECT pk FROM ${column.target} WHERE id = ?)`] : []),
      ...(end ? [`(${end} IS NULL OR ${end} > ?)`] : []),
    ];
    const where = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
    const params = [...(column ? [parent] : []), ...(end ? [clock.now()] : [])];
    return reader.one<{ n: number }>(`SELECT count(*) n FROM main.${layout.table}${where}`, ...params)?.n ?? 0;
  }

  function hasEnded({ resource }: TableLayout, row: AnyRow): boolean {
    const end = resource.limit?.until ? row[resource.limit.until] : null;
    return typeof end === "number" && end <= clock.now();
  }

  return { check, hasEnded, resetCounts: () => counts.clear() };
}
