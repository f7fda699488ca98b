/** Rows that are read together. */
export const PAGE_ROWS = 100;
/** Rows beyond the screen, on either side, that are read before they come into sight. */
const AHEAD_ROWS = 40;

/** The numbers of the pages that hold the rows `first` to `last` and those near them, of `count` rows in all. */
export function pagesAround(first: number, last: number, count: number): number[] {
  const lowest = Math.floor(Math.max(0, first - AHEAD_ROWS) / PAGE_ROWS);
  const highest = Math.floor(Math.max(0, Math.min(count - 1, last + AHEAD_ROWS)) / PAGE_ROWS);
  return Array.from({ length: Math.max(1, highest - lowest + 1) }, (_, at) => lowest + at);
}

/**
 * The rows with changed ones replaced; null if one of `ids` left the list (it is not among `fresh`) or moved in the
 * order of `sort` (`-field` descends).
 */
export function withFreshRows<T extends { id: string }>(
  rows: readonly T[],
  fresh: readonly T[],
  ids: ReadonlySet<string>,
  sort: string,
): T[] | null {
  const byId = new Map(fresh.map((row) => [row.id, row]));
  const field = sort.replace(/^-/, "") as keyof T;
  const isElsewhere = (row: T): boolean => ids.has(row.id) && byId.get(row.id)?.[field] !== row[field];
  return rows.some(isElsewhere) ? null : rows.map((row) => byId.get(row.id) ?? row);
}
