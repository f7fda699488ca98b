import { type Catalogue, pathParams, tableName } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { AccessScope, SqlValue, StoreReader } from "../store/store.ts";
import { buildTableLayout, encodeColumnValue } from "../store/table-layout.ts";

/** A row in an audit entry: API form, unset fields omitted. */
export type RowSnapshot = Readonly<Record<string, unknown>> & { id: string };

/** True for resources whose changes are published. Append-only rows are written in bulk and have no audit entries. */
function isPublished(resource: AnyResource): boolean {
  return !resource.appendOnly;
}

function segmentsOf(path: string): string[] {
  return path.split("/").filter((segment) => segment !== "");
}

function matchesSegments(spec: readonly string[], path: readonly string[]): boolean {
  if (spec.length !== path.length) return false;
  return spec.every((part, at) => {
    const segment = path[at] as string;
    return part === "*" || segment.startsWith("{") || part.toLowerCase() === segment.toLowerCase();
  });
}

/** Names of the resources with rows at a path such as `/users/*`; empty if none is published there. */
export function resourcesMatching(spec: string, catalogue: Catalogue): string[] {
  const specSegments = segmentsOf(spec);
  return catalogue.all
    .filter(
      (resource) =>
        isPublished(resource) && patternsOf(resource).some((pattern) => matchesSegments(specSegments, pattern)),
    )
    .map(({ name }) => name);
}

/** Item paths; the last segment is the id. Paths through other resources are excluded. */
function patternsOf(resource: AnyResource): string[][] {
  return resource.paths.filter(({ through }) => !through).map(({ at }) => [...segmentsOf(at), "{id}"]);
}

/** API paths of a row, the canonical path first: `/users/0190…/devices/0191…`. */
export function rowPaths(resource: AnyResource, row: RowSnapshot): string[] {
  return resource.paths.flatMap((path) => {
    if (path.through) return [];
    const ids = pathParams(path).map((name) => row[name]);
    if (!ids.every((id) => typeof id === "string")) return [];
    const collection = pathParams(path).reduce((at, name) => at.replace(`{${name}}`, String(row[name])), path.at);
    const segment = [
      row.id,
      ...(path.itemBy && typeof row[path.itemBy] === "string" ? [row[path.itemBy] as string] : []),
    ];
    return segment.map((id) => `/${collection}/${id}`);
  });
}

/** True if one of the paths matches the spec. */
export function matchesSpec(spec: string, paths: readonly string[]): boolean {
  const specSegments = segmentsOf(spec);
  return paths.some((path) => matchesSegments(specSegments, segmentsOf(path)));
}

/**
 * Whether `scope` shows a row as it was when written, even if it was deleted since: the visibility SQL is evaluated
 * on a row built from the snapshot. Rows that depend on deleted rows are not visible.
 */
export function wasVisible(
  resource: AnyResource,
  row: RowSnapshot,
  scope: AccessScope,
  { reader, catalogue }: { reader: StoreReader; catalogue: Catalogue },
): boolean {
  const visible = scope.visible(resource);
  if (visible === "all" || visible === "none") return visible === "all";
  const columns = [`(SELECT pk FROM ${tableName(resource)} WHERE id = ?) AS pk`, "? AS id"];
  const params: SqlValue[] = [row.id, row.id];
  const addValue = (name: string, value: SqlValue): void => {
    columns.push(`? AS ${name}`);
    params.push(value);
  };
  const addKey = (name: string, table: string, id: unknown): void => {
    columns.push(`(SELECT pk FROM ${table} WHERE id = ?) AS ${name}`);
    params.push(typeof id === "string" ? id : null);
  };
  if (resource.scope === "domain") {
    addKey("domain_pk", "domains", row.domainId);
    addValue("also_in", Array.isArray(row.alsoIn) ? JSON.stringify(row.alsoIn) : null);
  }
  for (const { field, name, target, spec } of buildTableLayout(resource, catalogue).columns) {
    if (target) addKey(name, target, row[field]);
    else if (field === resource.domainField || field === "isShared")
      addValue(name, encodeColumnValue(spec, row[field]));
    else columns.push(`NULL AS ${name}`);
  }
  const sql = `SELECT 1 FROM (SELECT ${columns.join(", ")}) t WHERE (${visible.sql})`;
  return reader.one(sql, ...params, ...visible.params) !== null;
}
