import type { SqlValue, VisibilityCondition } from "./store.ts";

/**
 * Compiles visibility to an SQL condition over `t` that can be embedded anywhere: `1` for all rows, `0` for none, else
 * in parentheses. `params` bind in place.
 */
export function buildVisibilitySql(visible: VisibilityCondition): { sql: string; params: readonly SqlValue[] } {
  if (visible === "all") return { sql: "1", params: [] };
  if (visible === "none") return { sql: "0", params: [] };
  return { sql: `(${visible.sql})`, params: visible.params };
}
