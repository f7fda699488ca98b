import { type Catalogue, tableOf } from "../schema/catalogue.ts";
import type { Reader, Scope } from "../store/store.ts";
import { OF_NO_ROW, type RowChange, SOME_ROW } from "./change-hub.ts";

/** Facts, which are told by the id of their notification. */
const TOLD_BY_NOTIFICATION: ReadonlySet<string> = new Set(["deliveries", "notification-activities"]);

/**
 * The changes that somebody may know of. A resource that is seen whole costs nothing, one that is not seen at all is left
 * out; of one that is seen in part, the rows are asked for together. Which of its deleted rows were seen can't be told
 * any more, so all of them are one change with the id `*`.
 */
export function visibleChanges(
  changes: readonly RowChange[],
  scope: Scope,
  { catalogue, reader }: { catalogue: Catalogue; reader: Reader },
): RowChange[] {
  const byResource = new Map<string, RowChange[]>();
  for (const change of changes) {
    const known = byResource.get(change.resource);
    if (known) known.push(change);
    else byResource.set(change.resource, [change]);
  }
  return [...byResource].flatMap(([name, all]) => {
    if (OF_NO_ROW.has(name)) return all;
    const judged = TOLD_BY_NOTIFICATION.has(name) ? "notifications" : name;
    if (!catalogue.has(judged)) return [];
    const resource = catalogue.byName(judged);
    const visible = scope.visible(resource);
    if (visible === "all") return all;
    if (visible === "none") return [];
    const there = all.filter(({ op }) => op !== "delete");
    const sql = `SELECT t.id FROM ${tableOf(resource)} t WHERE t.id IN (SELECT value FROM json_each(?)) AND (${visible.sql})`;
    const seen = new Set(
      reader.all<{ id: string }>(sql, JSON.stringify(there.map(({ id }) => id)), ...visible.params).map(({ id }) => id),
    );
    const gone = there.length < all.length ? [{ resource: name, id: SOME_ROW, op: "delete" as const }] : [];
    return [...there.filter(({ id }) => seen.has(id)), ...gone];
  });
}
