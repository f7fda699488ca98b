import { type Catalogue, tableName } from "../../schema/catalogue.ts";
import type { AccessScope, StoreReader } from "../../store/store.ts";
import { ANY_ROW, type ChangedRow, ROWLESS_CHANGES } from "./change-broadcaster.ts";

/** Facts, which are told by the id of their notification. */
const KEYED_BY_NOTIFICATION: ReadonlySet<string> = new Set(["deliveries", "notification-activities"]);

/**
 * The changes that somebody may know of. A resource that is seen whole costs nothing, one that is not seen at all is left
 * out; of one that is seen in part, the rows are asked for together. Which of its deleted rows were seen can't be told
 * any more, so all of them are one change with the id `*`.
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
    const judged = KEYED_BY_NOTIFICATION.has(name) ? "notifications" : name;
    if (!catalogue.has(judged)) return [];
    const resource = catalogue.byName(judged);
    const visible = scope.visible(resource);
    if (visible === "all") return all;
    if (visible === "none") return [];
    const there = all.filter(({ op }) => op !== "delete");
    const sql = `SELECT t.id FROM ${tableName(resource)} t WHERE t.id IN (SELECT value FROM json_each(?)) AND (${visible.sql})`;
    const seen = new Set(
      reader.all<{ id: string }>(sql, JSON.stringify(there.map(({ id }) => id)), ...visible.params).map(({ id }) => id),
    );
    const gone = there.length < all.length ? [{ resource: name, id: ANY_ROW, op: "delete" as const }] : [];
    return [...there.filter(({ id }) => seen.has(id)), ...gone];
  });
}
