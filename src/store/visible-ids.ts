import { tableName } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { StoreReader, VisibilityCondition } from "./store.ts";

/**
 * The ids whose rows are visible; with visibility `all` every id, without checking that the row exists. At most one
 * query.
 */
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
