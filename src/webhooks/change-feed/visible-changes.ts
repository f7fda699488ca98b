import { type Catalogue, tableName } from "../../schema/catalogue.ts";
import type { AccessScope, StoreReader } from "../../store/store.ts";
import { ANY_ROW, type ChangedRow, ROWLESS_CHANGES } from "./change-broadcaster.ts";

/** Append-only rows that are reported by the id of their notification. */
const KEYED_BY_NOTIFICATION: ReadonlySet<string> = new Set(["deliveries", "notification-activities"]);

/**
 * The changes visible to a scope. Fully visible resources need no query and invisible ones are dropped; for partially
 * visible ones the rows are checked together. The visibility of deleted rows is unknown, so they become one change
 * with the id `*`.
 */
export function visibleChanges(
  changes: readonly ChangedRow[],
  scope: AccessScope,
  { catalogue, reader }: { catalogue: Catalogue; reader: StoreReader },
): ChangedRow[] {
  const byResource = new Map<string, ChangedRow[]>();
  for (const change of changes) {
    const known = byResource.get(change.resource);
    if (known) known.push(change);
    else byResource.set(change.resource, [change]);
  }
  return [...byResource].flatMap(([name, all]) => {
    if (ROWLESS_CHANGES.has(name)) return all;
    const visibilityName = KEYED_BY_NOTIFICATION.has(name) ? "notifications" : name;
    if (!catalogue.has(visibilityName)) return [];
    const resource = catalogue.byName(visibilityName);
    const visible = scope.visible(resource);
    if (visible === "all") return all;
    if (visible === "none") return [];
    const existing = all.filter(({ op }) => op !== "delete");
    const sql = `SELECT t.id FROM ${tableName(resource)} t WHERE t.id IN (SELECT value FROM json_each(?)) AND (${visible.sql})`;
    const visibleIds = new Set(
      reader
        .all<{ id: string }>(sql, JSON.stringify(existing.map(({ id }) => id)), ...visible.params)
        .map(({ id }) => id),
    );
    const deleted = existing.length < all.length ? [{ resource: name, id: ANY_ROW, op: "delete" as const }] : [];
    return [...existing.filter(({ id }) => visibleIds.has(id)), ...deleted];
  });
}
