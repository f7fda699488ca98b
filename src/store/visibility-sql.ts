import type { SqlValue, VisibilityCondition } from "./store.ts";

/**
 * What somebody sees as a condition over `t` that can stand anywhere in a statement: `1` for all rows, `0` for none, else in
 * brackets; `params` are bound where it stands.
 */
export function buildVisibilitySql(visible: VisibilityCondition): { sql: string; params: readonly SqlValue[] } {
  if (visible === "all") return { sql: "1", params: [] };
  if (visible === "none") return { sql: "0", params: [] };
  return { sql: `(${visible.sql})`, params: visible.params };
}
