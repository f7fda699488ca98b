import { invalidValue } from "../base/errors.ts";
import { camelCase } from "../schema/decode.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { PageQuery } from "../store/store.ts";
import { compileFilterRules, filtersOf, listedFields } from "./filter-rules.ts";
import { idTexts, type Query, singleText } from "./query.ts";
import { compileSearchQuery } from "./search-query.ts";

/** What the query parameters of a list ask for; unknown parameters are ignored. */
export type ListQuery = Pick<
  PageQuery,
  "filters" | "search" | "ids" | "sort" | "limit" | "skip" | "start" | "includeTotal"
>;

/** Most rows of a page. */
export const MOST_ROWS = 1_000;
/** own choice */
const MOST_SKIPPED = 1_000_000;
const SORTABLE = new Set<Field["kind"]>([
  "text",
  "integer",
  "number",
  "boolean",
  "timestamp",
  "date",
  "option",
  "uuid",
]);

/** The fields that lists of a resource are sorted by. */
export function sortableFields(resource: AnyResource): string[] {
  return Object.entries(listedFields(resource)).flatMap(([name, { kind }]) => (SORTABLE.has(kind) ? [name] : []));
}

/** Compiles the reader of a resource's list parameters. @source decisions.md 1 */
export function compileListQuery(resource: AnyResource): (query: Query) => ListQuery {
  const rules = compileFilterRules(resource);
  const sortable = new Set(sortableFields(resource));
  const searchOf = compileSearchQuery(resource, (name, text) => {
    const rule = rules.get(name);
    return rule ? { field: rule.field, op: rule.op, value: rule.read(text, name) } : null;
  });
  return (query) => {
    const asked: ListQuery = { includeTotal: query.includeTotal !== false };
    const filters = filtersOf(query, rules);
    if (filters.length > 0) asked.filters = filters;
    const search = searchOf(query);
    if (search) asked.search = search;
    const ids = idTexts(query, "ids") ?? idTexts(query, "id");
    if (ids) asked.ids = ids;
    const limit = limitOf(query);
    if (limit !== null) asked.limit = limit;
    const skip = skipOf(query);
    if (skip !== null) asked.skip = skip;
    const sort = sortOf(query, sortable);
    if (sort !== null) asked.sort = sort;
    const start = singleText(query, "start");
    if (start) asked.start = start;
    return asked;
  };
}

/** How many rows the query asks for, null when it does not say. Throws invalid-value. */
export function limitOf(query: Query): number | null {
  const text = singleText(query, "limit");
  if (text === null) return null;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MOST_ROWS) throw invalidValue("limit", `It is 1 to ${MOST_ROWS}.`);
  return limit;
}

/** own choice: a page may begin at any row, so that a long list can be entered anywhere; pages that follow go on from their token. */
function skipOf(query: Query): number | null {
  const text = singleText(query, "skip");
  if (text === null) return null;
  const skip = /^\d{1,7}$/.test(text) ? Number(text) : -1;
  if (skip < 0 || skip > MOST_SKIPPED) throw invalidValue("skip", `It is 0 to ${MOST_SKIPPED}.`);
  return skip;
}

function sortOf(query: Query, sortable: ReadonlySet<string>): string | null {
  const text = singleText(query, "sort");
  if (text === null || text === "") return null;
  const descending = text.startsWith("-");
  const field = camelCase(descending ? text.slice(1) : text);
  if (!sortable.has(field)) {
    throw invalidValue("sort", `It is one of ${[...sortable].join(", ")}; - before it descends.`);
  }
  return descending ? `-${field}` : field;
}
