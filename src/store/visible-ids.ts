import { tableName } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { StoreReader, VisibilityCondition } from "./store.ts";

/** Those of the ids whose rows a condition admits, or that need no row to be admitted; at most one query. */
export function filterVisibleIds(
  reader: Pick<StoreReader, "all">,
  resource: AnyResource,
  ids: readonly string[],
  visible: VisibilityCondition,
): ReadonlySet<string> {
  if (visible === "all" || ids.length === 0) return new Set(ids);
  if (visible === "none") return new Set();
  const sql = `SELECT t.id FROM ${tableName(resource)} t WHERE t.id IN (SELECT value FROM json_each(?)) AND (${visible.sql})`;
  return new Set(reader.all<{ id: string }>(sql, JSON.stringify(ids), ...visible.params).map(({ id }) => id));
}
