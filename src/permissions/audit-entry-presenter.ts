import type auditEntries from "../resources/security/audit-entries.ts";
import type { Catalogue } from "../schema/catalogue.ts";
import type { RowBase } from "../schema/resource.ts";
import type { PresentContext, ResourceHooks } from "../store/store.ts";

type Present = NonNullable<ResourceHooks<typeof auditEntries>["present"]>;
type Snapshot = RowBase & Record<string, unknown>;

const SNAPSHOTS = ["before", "after"] as const;

/** Serializes audit entries: rows as they were, without the references that are hidden in the acting domain. */
export function createAuditEntryPresenter(catalogue: Catalogue): Present {
  return (rows, context) => {
    const presented = rows.map((): Record<string, unknown> => ({}));
    const resources = new Set(rows.flatMap(({ resource }) => (resource && catalogue.has(resource) ? [resource] : [])));
    for (const name of resources) {
      for (const when of SNAPSHOTS) {
        const at = rows.flatMap((row, index) => (row.resource === name && row[when] !== null ? [index] : []));
        const hidden = redactHidden(
          name,
          at.map((index) => rows[index]?.[when] as Snapshot),
          catalogue,
          context,
        );
        for (const [position, index] of at.entries())
          Object.assign(presented[index] as object, { [when]: hidden[position] });
      }
    }
    return presented;
  };
}

function redactHidden(
  name: string,
  snapshots: readonly Snapshot[],
  catalogue: Catalogue,
  { hide, scope }: PresentContext,
): readonly object[] {
  const resource = catalogue.byName(name);
  return hide(resource, snapshots).map(({ alsoIn, ...rest }) => {
    const known = alsoIn?.filter((id) => scope.canReference(id)) ?? [];
    return known.length > 0 ? { ...rest, alsoIn: known } : rest;
  });
}
