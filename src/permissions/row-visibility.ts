import type { Catalogue } from "../schema/catalogue.ts";
import { visibilityReferences } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { RowVisibility, SqlValue, VisibilityCondition } from "../store/store.ts";
import { buildTableLayout } from "../store/table-layout.ts";
import type { Domain } from "./domain-tree.ts";

/** The acting domain and user for which visibility is compiled. */
export interface VisibilityContext {
  acting: Domain;
  /** Topmost domains in which the user may act; visible from every acting domain. */
  own: readonly Domain[];
  userPk: number;
  catalogue: Catalogue;
}

interface SqlCondition {
  sql: string;
  params: SqlValue[];
}

/** Internal keys and ids of a set of domains, as JSON arrays for SQL conditions. */
interface DomainSet {
  pks: string;
  ids: string;
}

/** The domains that decide about visibility. */
interface DomainSets {
  /** The acting domain and its descendants. */
  within: DomainSet;
  /** Ancestors, whose shared rows are visible too; null for changeable rows. */
  above: DomainSet | null;
  /** The domains that are visible as rows of `domains`. */
  themselves: DomainSet;
}

const MAX_DEPTH = 8;

/**
 * The rows visible in the acting domain: its own, those of its descendants, and those shared by its ancestors.
 * Sub-resources follow all parents in their paths; rows about the user itself are always visible. The only place where
 * domains decide about visibility.
 * @source docs/decisions/0004-domains.md; docs/decisions/0023-visibility-and-permissions.md, Scope of resources
 */
export function compileDomainVisibility(context: VisibilityContext): RowVisibility {
  const { acting, own } = context;
  const named = [...acting.within, ...acting.above, ...own];
  return compileConditions(context, {
    within: toDomainSet(acting.within),
    above: toDomainSet(acting.above),
    themselves: toDomainSet(named),
  });
}

/**
 * The rows that can be changed in the acting domain: its own and those of its descendants. A domain itself can be
 * renamed and deleted only from an ancestor.
 */
export function compileChangeableRows(context: VisibilityContext): RowVisibility {
  const { acting } = context;
  const below = acting.within.filter((domain) => domain !== acting);
  return compileConditions(context, {
    within: toDomainSet(acting.within),
    above: null,
    themselves: toDomainSet(below),
  });
}

function toDomainSet(domains: readonly Domain[]): DomainSet {
  return { pks: JSON.stringify(domains.map(({ pk }) => pk)), ids: JSON.stringify(domains.map(({ id }) => id)) };
}

function compileConditions(context: VisibilityContext, where: DomainSets): RowVisibility {
  const compiled = new Map<string, VisibilityCondition>();
  return {
    visible(resource) {
      const known = compiled.get(resource.name) ?? conditionFor(resource, "t", 0, context, where) ?? "all";
      compiled.set(resource.name, known);
      return known;
    },
  };
}

/** The condition on the rows of `resource` under an alias; null: all rows are visible. */
function conditionFor(
  resource: AnyResource,
  alias: string,
  depth: number,
  context: VisibilityContext,
  where: DomainSets,
): SqlCondition | null {
  if (context.acting.parent === null) return null;
  if (resource.scope === "organisation") return organisationCondition(resource, alias, depth, context, where);
  if (resource.scope === "domain") return domainCondition(resource, alias, context, where);
  return parentCondition(resource, alias, depth, context, where);
}

function organisationCondition(
  resource: AnyResource,
  alias: string,
  depth: number,
  { catalogue }: VisibilityContext,
  { within, above, themselves }: DomainSets,
): SqlCondition | null {
  const { domainField } = resource;
  if (domainField === undefined) return null;
  const column = domainField === "id" ? "id" : buildTableLayout(resource, catalogue).columnOf(domainField)?.name;
  const isRow = domainField === "id" && (depth === 0 || above !== null);
  const { ids } = isRow ? themselves : within;
  return { sql: `${alias}.${column} IN (SELECT value FROM json_each(?))`, params: [ids] };
}

function domainCondition(
  resource: AnyResource,
  alias: string,
  { userPk }: VisibilityContext,
  { within, above }: DomainSets,
): SqlCondition {
  const own = membershipCondition(alias, within);
  const terms = [own.sql];
  const params = [...own.params];
  if (above && "isShared" in resource.fields) {
    const shared = membershipCondition(alias, above);
    terms.push(`(${alias}.is_shared = 1 AND (${shared.sql}))`);
    params.push(...shared.params);
  }
  if (resource.name === "users") {
    terms.push(`${alias}.pk = ?`);
    params.push(userPk);
  }
  return { sql: terms.join(" OR "), params };
}

/** Few rows belong to more than one domain, so `also_in` is checked last. */
function membershipCondition(alias: string, { pks, ids }: DomainSet): SqlCondition {
  const among = "IN (SELECT value FROM json_each(?))";
  const also = `EXISTS (SELECT 1 FROM json_each(${alias}.also_in) j WHERE j.value ${among})`;
  return {
    sql: `${alias}.domain_pk ${among} OR (${alias}.also_in IS NOT NULL AND ${also})`,
    params: [pks, ids],
  };
}

function parentCondition(
  resource: AnyResource,
  alias: string,
  depth: number,
  context: VisibilityContext,
  where: DomainSets,
): SqlCondition | null {
  const { catalogue } = context;
  const layout = buildTableLayout(resource, catalogue);
  const terms: SqlCondition[] = [];
  for (const name of depth < MAX_DEPTH ? visibilityReferences(resource) : []) {
    const column = layout.columnOf(name);
    if (column?.spec.kind !== "ref") continue;
    const inner = `${alias}${depth}`;
    const term = conditionFor(catalogue.byName(column.spec.to), inner, depth + 1, context, where);
    if (!term) continue;
    const key = `${alias}.${column.name}`;
    const there = `EXISTS (SELECT 1 FROM ${column.target} ${inner} WHERE ${inner}.pk = ${key} AND (${term.sql}))`;
    terms.push({ sql: column.spec.required ? there : `(${key} IS NULL OR ${there})`, params: term.params });
  }
  if (terms.length === 0) return null;
  const all = terms.map(({ sql }) => sql).join(" AND ");
  const params = terms.flatMap((term) => term.params);
  const user = layout.columnOf("userId");
  if (user?.target !== "users") return { sql: all, params };
  return { sql: `(${all}) OR ${alias}.${user.name} = ?`, params: [...params, context.userPk] };
}

/** Rows that match both conditions. */
export function intersectVisibility(one: VisibilityCondition, other: VisibilityCondition): VisibilityCondition {
  if (one === "none" || other === "all") return one;
  if (other === "none" || one === "all") return other;
  return { sql: `(${one.sql}) AND (${other.sql})`, params: [...one.params, ...other.params] };
}

/** Rows that match at least one condition. */
export function uniteVisibility(one: VisibilityCondition, other: VisibilityCondition): VisibilityCondition {
  if (one === "all" || other === "none") return one;
  if (other === "all" || one === "none") return other;
  return { sql: `(${one.sql}) OR (${other.sql})`, params: [...one.params, ...other.params] };
}
