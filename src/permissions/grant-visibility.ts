import type { Catalogue } from "../schema/catalogue.ts";
import { pathParams } from "../schema/catalogue.ts";
import type { AnyResource, ResourcePath } from "../schema/resource.ts";
import type { SqlValue, VisibilityCondition } from "../store/store.ts";
import { buildTableLayout } from "../store/table-layout.ts";
import type { GrantMatcher } from "./grants.ts";
import { splitPath } from "./grants.ts";

/**
 * Compiles get grants to a condition on the rows of `resource`. A grant with only `*` admits all rows; each id in a
 * grant restricts it to the rows of that parent, or to that row. The rows of several grants and paths are united.
 */
export function compileGrantVisibility(
  resource: AnyResource,
  grants: GrantMatcher,
  catalogue: Catalogue,
): VisibilityCondition {
  const conditions = new Map<string, SqlValue[]>();
  for (const path of resource.paths) {
    for (const spec of grants.readablePaths) {
      const found = conditionOf(resource, path, spec, catalogue);
      if (found === "none") continue;
      if (found === "all") return "all";
      conditions.set(`${found.sql} ${found.params.join()}`, [found.sql, ...found.params]);
    }
  }
  const parts = [...conditions.values()];
  if (parts.length === 0) return "none";
  return { sql: parts.map(([sql]) => `(${sql})`).join(" OR "), params: parts.flatMap(([, ...params]) => params) };
}

interface SqlCondition {
  sql: string;
  params: SqlValue[];
}

/** The condition of one grant for one path. */
function conditionOf(
  resource: AnyResource,
  path: ResourcePath,
  spec: readonly string[],
  catalogue: Catalogue,
): SqlCondition | "all" | "none" {
  const at = splitPath(path.at);
  if (spec.length !== at.length + 1) return "none";
  const within: Record<string, string> = {};
  const params = pathParams(path);
  for (const [index, segment] of at.entries()) {
    const granted = spec[index] as string;
    if (!segment.startsWith("{")) {
      if (granted !== segment) return "none";
      continue;
    }
    const name = params.shift() as string;
    if (granted !== "*") within[name] = granted;
  }
  return toTerm(resource, path, within, spec.at(-1) as string, catalogue);
}

function toTerm(
  resource: AnyResource,
  path: ResourcePath,
  within: Readonly<Record<string, string>>,
  item: string,
  catalogue: Catalogue,
): SqlCondition | "all" | "none" {
  const terms: SqlCondition[] = [];
  if (path.through) {
    if (!catalogue.has(path.through.resource)) return "none";
    const link = buildTableLayout(catalogue.byName(path.through.resource), catalogue);
    const inner = withinTerms(link, "r", within);
    const via = link.columnOf(path.through.via);
    if (!inner || !via) return "none";
    const sql = [`r.${via.name} = t.pk`, ...inner.map((term) => term.sql)].join(" AND ");
    terms.push({ sql: `EXISTS (SELECT 1 FROM ${link.table} r WHERE ${sql})`, params: inner.flatMap((t) => t.params) });
  } else {
    const inner = withinTerms(buildTableLayout(resource, catalogue), "t", within);
    if (!inner) return "none";
    terms.push(...inner);
  }
  if (item !== "*") {
    const byTarget = path.itemBy
      ? withinTerms(buildTableLayout(resource, catalogue), "t", { [path.itemBy]: item })
      : null;
    terms.push(...(byTarget ?? [{ sql: "t.id = ?", params: [item] }]));
  }
  if (terms.length === 0) return "all";
  return { sql: terms.map((term) => term.sql).join(" AND "), params: terms.flatMap((term) => term.params) };
}

/** One term per placeholder that a grant fixes to an id; null if a placeholder has no column. */
function withinTerms(
  layout: ReturnType<typeof buildTableLayout>,
  alias: string,
  within: Readonly<Record<string, string>>,
): SqlCondition[] | null {
  const terms: SqlCondition[] = [];
  for (const [field, id] of Object.entries(within)) {
    const column = layout.columnOf(field);
    if (!column?.target) return null;
    terms.push({ sql: `${alias}.${column.name} = (SELECT pk FROM ${column.target} WHERE id = ?)`, params: [id] });
  }
  return terms;
}
