import { invalidValue } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { camelCase } from "../../schema/decoder.ts";
import type { Field } from "../../schema/field.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { PageQuery } from "../../store/store.ts";
import { compileFilterRules, filterableFields, filtersOf } from "./filter-rules.ts";
import { idListParameter, type Query, textParameter } from "./query.ts";
import { compileSearchQuery } from "./search-query.ts";

/** List parameters of a query; unknown parameters are ignored. */
export type ListParameters = Pick<
  PageQuery,
  "filters" | "search" | "ids" | "sort" | "limit" | "skip" | "start" | "includeTotal"
>;

/** Maximum rows per page. */
export const MAX_PAGE_ROWS = 1_000;

const MAX_SKIPPED_ROWS = 1_000_000;
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

/** Sort fields of a resource. */
export function sortableFields(resource: AnyResource): string[] {
  return Object.entries(filterableFields(resource)).flatMap(([name, { kind }]) => (SORTABLE.has(kind) ? [name] : []));
}

/** Compiles the parser of the list parameters of a resource. @source docs/decisions/0001-lists-and-paging.md */
export function compileListParameters(resource: AnyResource): (query: Query) => ListParameters {
  const rules = compileFilterRules(resource);
  const sortable = new Set(sortableFields(resource));
  const searchOf = compileSearchQuery(resource, (name, text) => {
    const rule = rules.get(name);
    return rule ? { field: rule.field, op: rule.op, value: rule.read(text, name) } : null;
  });
  return (query) => {
    const parameters: ListParameters = { includeTotal: query.includeTotal !== false };
    const filters = filtersOf(query, rules);
    if (filters.length > 0) parameters.filters = filters;
    const search = searchOf(query);
    if (search) parameters.search = search;
    const ids = idListParameter(query, "ids") ?? idListParameter(query, "id");
    if (ids) parameters.ids = ids;
    const limit = limitOf(query);
    if (limit !== null) parameters.limit = limit;
    const skip = skipOf(query);
    if (skip !== null) parameters.skip = skip;
    const sort = sortOf(query, sortable);
    if (sort !== null) parameters.sort = sort;
    const start = textParameter(query, "start");
    if (start) parameters.start = start;
    return parameters;
  };
}

/** The `limit` parameter, null if absent. Throws invalid-value. */
export function limitOf(query: Query): number | null {
  const text = textParameter(query, "limit");
  if (text === null) return null;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_PAGE_ROWS)
    throw invalidValue("limit", sentence("field.must-be-between-1-and-max", { max: MAX_PAGE_ROWS }));
  return limit;
}

/** The `skip` parameter allows jumping into a long list; following pages use their token. */
function skipOf(query: Query): number | null {
  const text = textParameter(query, "skip");
  if (text === null) return null;
  const skip = /^\d{1,7}$/.test(text) ? Number(text) : -1;
  if (skip < 0 || skip > MAX_SKIPPED_ROWS)
    throw invalidValue("skip", sentence("field.must-be-between-0-and-max", { max: MAX_SKIPPED_ROWS }));
  return skip;
}

function sortOf(query: Query, sortable: ReadonlySet<string>): string | null {
  const text = textParameter(query, "sort");
  if (text === null || text === "") return null;
  const descending = text.startsWith("-");
  const field = camelCase(descending ? text.slice(1) : text);
  if (!sortable.has(field)) {
    throw invalidValue(
      "sort",
      sentence("field.must-be-one-of-fields-with-a-leading-for-descending", { fields: [...sortable].join(", ") }),
    );
  }
  return descending ? `-${field}` : field;
}
