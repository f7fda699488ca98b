import { notFound } from "../../lib/errors.ts";
import { isUuid } from "../../lib/ids.ts";
import type { AnyResource, ResourcePath } from "../../schema/resource.ts";
import type { AccessScope, PageQuery, Store } from "../../store/store.ts";
import type { ApiRequest } from "../action.ts";
import type { UntypedRow } from "./representation.ts";

/** One path of a resource, as it is served. */
export interface ServedPath {
  resource: AnyResource;
  path: ResourcePath;
  parents: readonly string[];
  /** Placeholder of the item's id. */
  idName: string;
}

/** The concrete collection: `/users/0190…/devices`. */
export function collectionOf({ path, parents }: ServedPath, { params }: Pick<ApiRequest, "params">): string {
  return `/${parents.reduce((at, name) => at.replace(`{${name}}`, String(params[name])), path.at)}`;
}

/** The ids that the path names above its collection, by placeholder. */
export function parentIds({ parents }: ServedPath, { params }: Pick<ApiRequest, "params">): Record<string, string> {
  return Object.fromEntries(parents.map((name) => [name, params[name] as string]));
}

/** Restricts a list to the rows of the path. */
export function pathRestriction(served: ServedPath, request: Pick<ApiRequest, "params">): PageQuery {
  const within = parentIds(served, request);
  const { through } = served.path;
  return through ? { through: { ...through, within } } : { within };
}

/** As `findRow`, for the caller. Throws not-found. */
export function requireRow(served: ServedPath, request: ApiRequest): UntypedRow {
  const row = findRow(served, request, request.by.scope);
  if (!row) throw notFound();
  return row;
}

/**
 * The row addressed by its id or, with `itemBy`, by the id of its target; null if it does not exist or `scope` does
 * not show it.
 */
export function findRow(
  served: ServedPath,
  request: Pick<ApiRequest, "params" | "deps">,
  scope: AccessScope,
): UntypedRow | null {
  const { resource, path, parents, idName } = served;
  const { store } = request.deps;
  const id = request.params[idName] ?? "";
  if (!isUuid(id) || !parents.every((name) => isUuid(request.params[name]))) return null;
  const restriction = pathRestriction(served, request);
  if (path.through) return first(store.page(resource, { ...restriction, ids: [id], ...ONE, scope }));
  const row = store.get(resource, id, scope) as UntypedRow | null;
  if (row && parents.every((name) => row[name] === request.params[name])) return row;
  if (!path.itemBy) return null;
  const filters = [{ field: path.itemBy, op: "eq" as const, value: id }];
  return first(store.page(resource, { ...restriction, filters, ...ONE, scope }));
}

const ONE = { limit: 1, includeTotal: false };

function first({ rows }: { rows: readonly unknown[] }): UntypedRow | null {
  return (rows[0] as UntypedRow | undefined) ?? null;
}

/**
 * Throws not-found unless the parent rows of the path exist and are nested as in the path. Permissions were checked
 * by path, so parents only have to be visible in the acting domain.
 */
export function requireParents({ resource, path, parents }: ServedPath, { params, deps, by }: ApiRequest): void {
  const { catalogue, store } = deps;
  const owner = path.through ? catalogue.byName(path.through.resource) : resource;
  for (const name of parents) {
    const field = owner.fields[name];
    if (field?.kind !== "ref" || !catalogue.has(field.to)) continue;
    const id = params[name] as string;
    const row = isUuid(id) ? parentRow(store, catalogue.byName(field.to), id, by.scope) : null;
    const misplaced = parents.some((other) => other !== name && row?.[other] && row[other] !== params[other]);
    if (!row || misplaced) throw notFound();
  }
}

/** Rows of the caller itself are accessible in every acting domain. */
function parentRow(store: Store, resource: AnyResource, id: string, scope: AccessScope): UntypedRow | null {
  return (store.get(resource, id, scope.domainVisibility) ?? store.get(resource, id, scope)) as UntypedRow | null;
}
