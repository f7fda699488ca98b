import type { Catalogue } from "../../schema/catalogue.ts";
import { visibilityReferences } from "../../schema/catalogue.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { AccessScope, Store } from "../../store/store.ts";
import { filterVisibleIds } from "../../store/visible-ids.ts";
import type { UntypedRow } from "./representation.ts";

/** Removes ids of invisible rows from a representation. */
export type HideReferences = (rows: readonly UntypedRow[], scope: AccessScope) => readonly UntypedRow[];

interface Reference {
  field: string;
  many: boolean;
  target: AnyResource;
}

/**
 * Compiles the hiding of references to rows outside the acting domain: a single reference becomes null, lists are
 * filtered, and the home domain is replaced by a visible one. One query per reference and page, none if everything is
 * visible. Parents and parts of a row are kept. Updates keep hidden references.
 */
export function compileReferenceHiding(
  resource: AnyResource,
  { catalogue, store }: { catalogue: Catalogue; store: Store },
): HideReferences {
  const references = referencesOf(resource, catalogue);
  return (rows, scope) => {
    const hiding = references.filter(({ target }) => scope.domainVisibility.visible(target) !== "all");
    const placed = resource.scope === "domain" && scope.domainVisibility.visible(resource) !== "all";
    if (rows.length === 0 || (hiding.length === 0 && !placed)) return rows;
    const seen = new Map(hiding.map(({ field, target }) => [field, visibleIds(rows, field, target, scope, store)]));
    return rows.map((row) => {
      const shown: Record<string, unknown> = { ...row };
      if (placed && row.domainId) shown.domainId = visibleDomain(row, scope);
      for (const { field, many } of hiding) {
        const isVisible = (id: string): boolean => seen.get(field)?.has(id) === true;
        const value = row[field] as string | string[] | null | undefined;
        if (many && value) shown[field] = (value as string[]).filter(isVisible);
        else if (!many && value && !isVisible(value as string)) shown[field] = null;
      }
      return shown as UntypedRow;
    });
  };
}

/** Single references that may be shown as null although they are set. */
export function hidableReferences(resource: AnyResource, catalogue: Catalogue): string[] {
  return referencesOf(resource, catalogue)
    .filter(({ many, target }) => !many && target.scope !== "organisation")
    .map(({ field }) => field);
}

/** The domain that a row is shown in: of several one that is held, else one that is known. */
function visibleDomain({ domainId, alsoIn }: UntypedRow, scope: AccessScope): string | null {
  const domains = [domainId as string, ...(alsoIn ?? [])];
  return domains.find(scope.canAssign) ?? domains.find(scope.canReference) ?? null;
}

function referencesOf(resource: AnyResource, catalogue: Catalogue): Reference[] {
  const followed = resource.scope === "parent" ? visibilityReferences(resource) : [];
  return Object.entries(resource.fields).flatMap(([field, spec]): Reference[] => {
    if ((spec.kind !== "ref" && spec.kind !== "many") || !catalogue.has(spec.to)) return [];
    if (followed.includes(field) || (spec.kind === "ref" && spec.part)) return [];
    return [{ field, many: spec.kind === "many", target: catalogue.byName(spec.to) }];
  });
}

function visibleIds(
  rows: readonly UntypedRow[],
  field: string,
  target: AnyResource,
  scope: AccessScope,
  store: Store,
): ReadonlySet<string> {
  const ids = new Set(rows.flatMap((row) => (row[field] as string[] | string | null) ?? []));
  return filterVisibleIds(store, target, [...ids], scope.domainVisibility.visible(target));
}
