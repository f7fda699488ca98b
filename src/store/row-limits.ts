import type { Clock } from "../lib/clock.ts";
import { LimitError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { collectionName } from "../schema/catalogue.ts";
import type { AnyRow } from "./row-shape.ts";
import type { StoreReader } from "./store.ts";
import type { TableLayout } from "./table-layout.ts";

/** Limits on the number of rows, in total or per parent. */
export interface RowLimits {
  /** Counts a row that is about to be stored. Throws LimitError when the limit is reached. */
  check(layout: TableLayout, row: AnyRow): void;
  /** True for a row whose end has passed, so that it no longer counts. */
  hasEnded(layout: TableLayout, row: AnyRow): boolean;
  /** Must be called after rows were removed or a write was rolled back. */
  resetCounts(): void;
}

/** Creates the row limits of one database. */
export function createRowLimits(reader: StoreReader, clock: Clock): RowLimits {
  /** Row counts by table and parent; cleared whenever they may be stale. */
  const counts = new Map<string, number>();

  function check(layout: TableLayout, row: AnyRow): void {
    const { limit } = layout.resource;
    if (!limit || hasEnded(layout, row)) return;
    const parent = limit.per ? (row[limit.per] as string | null) : null;
    const key = `${layout.table}|${parent ?? ""}`;
    let count = counts.get(key) ?? countRows(layout, parent);
    // Rows may have ended since the last count.
    if (count >= limit.most && limit.until) count = countRows(layout, parent);
    if (count >= limit.most)
      throw new LimitError(
        sentence("limit.of-rows", { limit: limit.most, rows: collectionName(layout.resource) }),
        limit.most,
      );
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
