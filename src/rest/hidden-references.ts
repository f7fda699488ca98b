import type { Catalogue } from "../schema/catalogue.ts";
import { followedBy } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import { idsUnder } from "../store/ids-under.ts";
import type { Scope, Store } from "../store/store.ts";
import type { Row } from "./representation.ts";

/** Rows as they are shown to somebody: without ids of what lies out of sight. */
export type HideReferences = (rows: readonly Row[], scope: Scope) => readonly Row[];

interface Reference {
  field: string;
  many: boolean;
  target: AnyResource;
}

/**
 * Compiles the hiding of references that the acting domain does not show: a single one becomes null, a list loses it,
 * and the domain of the row is told as one that the caller knows. One query per reference and page, none where the
 * acting domain shows everything. Parents that a row follows and parts of it stay.
 *
 * own choice: a change of the row leaves hidden references in it.
 */
export function compileHiding(
  resource: AnyResource,
  { catalogue, store }: { catalogue: Catalogue; store: Store },
): HideReferences {
  const references = referencesOf(resource, catalogue);
  return (rows, scope) => {
    const hiding = references.filter(({ target }) => scope.inSight.visible(target) !== "all");
    const placed = resource.scope === "domain" && scope.inSight.visible(resource) !== "all";
    if (rows.length === 0 || (hiding.length === 0 && !placed)) return rows;
    const seen = new Map(hiding.map(({ field, target }) => [field, seenIds(rows, field, target, scope, store)]));
    return rows.map((row) => {
      const shown: Record<string, unknown> = { ...row };
      if (placed && row.domainId) shown.domainId = knownDomain(row, scope);
      for (const { field, many } of hiding) {
        const inSight = (id: string): boolean => seen.get(field)?.has(id) === true;
        const value = row[field] as string | string[] | null | undefined;
        if (many && value) shown[field] = (value as string[]).filter(inSight);
        else if (!many && value && !inSight(value as string)) shown[field] = null;
      }
      return shown as Row;
    });
  };
}

/** Names of the single references that an answer may show as null although the row has one. */
export function hidableReferences(resource: AnyResource, catalogue: Catalogue): string[] {
  return referencesOf(resource, catalogue)
    .filter(({ many, target }) => !many && target.scope !== "organisation")
    .map(({ field }) => field);
}

/** The domain that a row is shown in: of several one that is held, else one that is known. */
function knownDomain({ domainId, alsoIn }: Row, scope: Scope): string | null {
  const domains = [domainId as string, ...(alsoIn ?? [])];
  return domains.find(scope.holds) ?? domains.find(scope.knows) ?? null;
}

function referencesOf(resource: AnyResource, catalogue: Catalogue): Reference[] {
  const followed = resource.scope === "parent" ? followedBy(resource) : [];
  return Object.entries(resource.fields).flatMap(([field, spec]): Reference[] => {
    if ((spec.kind !== "ref" && spec.kind !== "many") || !catalogue.has(spec.to)) return [];
    if (followed.includes(field) || (spec.kind === "ref" && spec.part)) return [];
    return [{ field, many: spec.kind === "many", target: catalogue.byName(spec.to) }];
  });
}

function seenIds(
  rows: readonly Row[],
  field: string,
  target: AnyResource,
  scope: Scope,
  store: Store,
): ReadonlySet<string> {
  const ids = new Set(rows.flatMap((row) => (row[field] as string[] | string | null) ?? []));
  return idsUnder(store, target, [...ids], scope.inSight.visible(target));
}
