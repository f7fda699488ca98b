import { invalidValue } from "../base/errors.ts";
import { isUuid } from "../base/ids.ts";
import { camelCase } from "../schema/decode.ts";
import type { Field } from "../schema/field.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { PageQuery } from "../store/store.ts";
import { idTexts, type Query, singleText } from "./query.ts";

/** What the query parameters of a list ask for; unknown parameters are ignored. */
export type ListQuery = Pick<PageQuery, "filters" | "ids" | "sort" | "limit" | "skip" | "start" | "includeTotal">;

type Filter = NonNullable<PageQuery["filters"]>[number];

interface FilterRule {
  field: string;
  op: Filter["op"];
  /** Throws invalid-value when the text is none of the field's values. */
  read: (text: string, name: string) => Filter["value"];
}

const MOST_ROWS = 1_000;
/** own choice */
const MOST_SKIPPED = 1_000_000;
const RANGES = ["gt", "gte", "lt", "lte"] as const;
const ORDERED = new Set<Field["kind"]>(["integer", "number", "timestamp", "date"]);
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
const MOMENT: Field = { kind: "timestamp", doc: "Base column." };
const DOMAIN: Field = { kind: "uuid", doc: "A domain that the row is in." };

/** Compiles the reader of a resource's list parameters. @source decisions.md 1 */
export function compileListQuery(resource: AnyResource): (query: Query) => ListQuery {
  const inDomain = resource.scope === "domain" ? { domainId: DOMAIN } : {};
  const fields: Record<string, Field> = { ...resource.fields, createdAt: MOMENT, updatedAt: MOMENT, ...inDomain };
  const rules = new Map<string, FilterRule>();
  for (const [field, spec] of Object.entries(fields)) {
    const read = reader(spec);
    if (!read || spec.filter === false) continue;
    rules.set(field, { field, op: "eq", read });
    if (ORDERED.has(spec.kind)) for (const op of RANGES) rules.set(`${field}__${op}`, { field, op, read });
  }
  const sortable = new Set(Object.keys(fields).filter((name) => SORTABLE.has((fields[name] as Field).kind)));
  return (query) => {
    const asked: ListQuery = { includeTotal: query.includeTotal !== false };
    const filters = filtersOf(query, rules);
    if (filters.length > 0) asked.filters = filters;
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

function filtersOf(query: Query, rules: ReadonlyMap<string, FilterRule>): Filter[] {
  const filters: Filter[] = [];
  for (const name of Object.keys(query)) {
    const rule = rules.get(name);
    if (!rule) continue;
    const text = singleText(query, name) ?? "";
    // own choice: an empty text asks for rows without a value, as an empty form member clears one.
    if (text === "" && rule.op !== "eq") throw invalidValue(name);
    filters.push({ field: rule.field, op: rule.op, value: text === "" ? null : rule.read(text, name) });
  }
  return filters;
}

function limitOf(query: Query): number | null {
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
  if (!sortable.has(field)) throw invalidValue("sort");
  return descending ? `-${field}` : field;
}

/** How a filter's text is read; null for fields that lists can't be filtered by. */
function reader(field: Field): FilterRule["read"] | null {
  switch (field.kind) {
    case "text":
      return (text) => text;
    case "option":
      return matching((text) => field.values.includes(text));
    case "uuid":
    case "ref":
    case "many":
      return idOf;
    case "date":
      return matching((text) => /^\d{4}-\d{2}-\d{2}$/.test(text));
    case "boolean":
      return (text) => text === "true";
    case "integer":
      return numeric(/^-?\d{1,15}$/);
    case "number":
      return numeric(/^-?\d{1,30}(\.\d{1,30})?$/);
    case "timestamp":
      return momentOf;
    default:
      return null;
  }
}

function matching(fits: (text: string) => boolean): FilterRule["read"] {
  return (text, name) => {
    if (!fits(text)) throw invalidValue(name);
    return text;
  };
}

function idOf(text: string, name: string): string {
  if (!isUuid(text)) throw invalidValue(name);
  return text.toLowerCase();
}

function numeric(pattern: RegExp): FilterRule["read"] {
  return (text, name) => {
    if (!pattern.test(text)) throw invalidValue(name);
    return Number(text);
  };
}

/** Epoch ms of an ISO 8601 moment with a zone, or of a day's begin in UTC. */
function momentOf(text: string, name: string): number {
  const at = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (!Number.isFinite(at)) throw invalidValue(name);
  return at;
}
