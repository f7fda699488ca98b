import { and, type SQL, sql } from "drizzle-orm";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { AnyResource, RowOf } from "../schema/resource.ts";
import { filterCondition, filterKey, filterValues } from "./filter-condition.ts";
import type { PageStart, PageTokens } from "./page-token.ts";
import { compileVisibility, fieldIsNull, type PreparedSelects, type SelectClauses } from "./prepared-selects.ts";
import { type AnyRow, fieldEquals, type RowShape } from "./row-shape.ts";
import { searchCondition } from "./search.ts";
import type { Page, PageQuery } from "./store.ts";
import { ignoresCase } from "./table-layout.ts";

const DEFAULT_LIMIT = 100;

/** Sort order of a list. */
export interface SortOrder {
  field: string;
  descending: boolean;
  /** Sorts in place of NULL. */
  emptyValue: string | number;
  /** The sort expression; never NULL. */
  expression: (shape: RowShape) => SQL;
}

/** Condition on the rows of a list. */
export interface ListCondition {
  key: string;
  where: (shape: RowShape) => (SQL | undefined)[];
  values: Record<string, unknown>;
  /** A select of all matching keys, if the rows can be counted without a scan; else null. */
  keys: SQL | null;
  /** The part that hides rows; `where` is undefined when all are visible. */
  visible: { key: string; where: SQL | undefined };
}

/** A list query with its parts parsed. */
export interface PageRequest {
  order: SortOrder;
  condition: ListCondition;
  /** What page tokens of this list are bound to. */
  listName: string;
  start: PageStart | null;
  backwards: boolean;
  limit: number;
  skip: number;
}

/** Hits of a list, found before the page is read: enough keys around the page, which need no further condition. */
export interface PageHits {
  /** Internal keys; other rows are not read. */
  pks: readonly number[];
  /** Number of leading keys to skip. */
  skip: number;
  total: number;
}

/** Lists rows, and the parts of it for lists that are read in chunks. */
export interface Pager {
  /** Reads a page in one go. */
  page<R extends AnyResource>(resource: R, query: PageQuery): Page<R>;
  parse(resource: AnyResource, query: PageQuery): PageRequest;
  read<R extends AnyResource>(resource: R, query: PageQuery, request: PageRequest, hits: PageHits | null): Page<R>;
}

/** Creates the list functions. Keyset paging never repeats or skips a row while others are inserted or deleted. */
export function createPager(selects: PreparedSelects, tokens: PageTokens): Pager {
  function parse(resource: AnyResource, query: PageQuery): PageRequest {
    const order = parseSortOrder(resource, query.sort, selects.shape(resource));
    const condition = compileListCondition(resource, query, selects);
    const named = query.pksOf === undefined ? condition.values : { ...condition.values, pks: query.pksOf };
    const listName = `${resource.name}|${condition.key}|${JSON.stringify(named)}|${query.sort ?? ""}`;
    const start = parsePageStart(query.start, listName, tokens);
    const backwards = query.start === "end" || start?.direction === "before";
    return { order, condition, listName, start, backwards, limit: query.limit ?? DEFAULT_LIMIT, skip: query.skip ?? 0 };
  }

  function read<R extends AnyResource>(
    resource: R,
    query: PageQuery,
    { order, condition: requested, listName, start, backwards, limit, skip: requestedSkip }: PageRequest,
    hits: PageHits | null,
  ): Page<R> {
    const condition = hits ? keysCondition(hits.pks, requested) : requested;
    const skip = hits?.skip ?? requestedSkip;
    const isPastStart = start !== null || requestedSkip > 0;

    const rowsFrom = (from: PageStart | null, back: boolean, maxRows: number, skipped = 0): AnyRow[] =>
      selects.rows(
        resource,
        `page|${maxRows}|${condition.key}|${order.field}${order.descending}|${from ? "k" : ""}${back}`,
        (shape) => ({ ...pageClauses(shape, condition, order, from !== null, back), limit: maxRows }),
        { ...condition.values, keySort: from?.sortValue ?? null, keyId: from?.id ?? null, skip: skipped },
      );

    const found = rowsFrom(start, backwards, limit + 1, skip);
    const beyond = found.length > limit;
    const rows = found.slice(0, limit);
    if (backwards) rows.reverse();
    const keyOf = (row: AnyRow, direction: PageStart["direction"]): PageStart => ({
      direction,
      sortValue: sortValueOf(row, order),
      id: row.id,
    });
    const first = rows[0];
    const last = rows.at(-1);
    const before = first
      ? keyOf(first, "before")
      : start && !backwards
        ? { ...start, direction: "before" as const }
        : null;
    const after = last ? keyOf(last, "after") : start && backwards ? { ...start, direction: "after" as const } : null;
    // The extra row answers one side; the other side needs its own query.
    const hasPrevious = before !== null && (backwards ? beyond : isPastStart && rowsFrom(before, true, 1).length > 0);
    const hasNext = after !== null && (backwards ? isPastStart && rowsFrom(after, false, 1).length > 0 : beyond);
    return {
      rows: rows as unknown as RowOf<R>[],
      total: query.includeTotal === false ? null : (hits?.total ?? countOf(resource, condition)),
      partial: hasPrevious || hasNext,
      previous: hasPrevious && before ? tokens.sign(listName, before) : null,
      next: hasNext && after ? tokens.sign(listName, after) : null,
    };
  }

  function countOf(resource: AnyResource, condition: ListCondition): number {
    const { keys, values } = condition;
    if (keys) {
      const what = sql`(SELECT count(*) FROM (${keys}))`;
      return (selects.value(resource, `keys|${condition.key}`, what, () => ({ limit: 1 }), values) ?? 0) as number;
    }
    const build = (shape: RowShape): SelectClauses => ({ where: and(...condition.where(shape)) });
    return selects.value(resource, `total|${condition.key}`, sql`count(*)`, build, values) as number;
  }

  return { page: (resource, query) => read(resource, query, parse(resource, query), null), parse, read };
}

function parsePageStart(start: string | undefined, listName: string, tokens: PageTokens): PageStart | null {
  return start === undefined || start === "" || start === "end" ? null : tokens.verify(listName, start);
}

function parseSortOrder(resource: AnyResource, requested: string | undefined, shape: RowShape): SortOrder {
  const wanted = requested ?? resource.sort ?? "createdAt";
  const descending = wanted.startsWith("-");
  const field = descending ? wanted.slice(1) : wanted;
  if (field === "createdAt")
    return { field, descending, emptyValue: "", expression: (shape) => shape.column("created_at") };
  if (field === "updatedAt")
    return { field, descending, emptyValue: "", expression: (shape) => shape.column("updated_at") };
  if (field === "id") return { field, descending, emptyValue: "", expression: (shape) => shape.column("id") };
  const column = shape.layout.columnOf(field);
  const sortable =
    column && !column.target && !["internal", "json", "list", "object", "file", "secret"].includes(column.spec.kind);
  if (!column || !sortable) throw invalidValue("sort", sentence("field.sorting-by-this-field-is-not-supported"));
  const emptyValue = column.type === "TEXT" ? "" : -9e15;
  return {
    field,
    descending,
    emptyValue,
    expression(shape) {
      const value = column.spec.required
        ? shape.column(column.name)
        : sql`ifnull(${shape.column(column.name)}, ${sql.raw(emptyValue === "" ? "''" : String(emptyValue))})`;
      return ignoresCase(column.spec) ? sql`${value} COLLATE NOCASE` : value;
    },
  };
}

function sortValueOf(row: AnyRow, order: SortOrder): string | number {
  const value = row[order.field] ?? order.emptyValue;
  return typeof value === "boolean" ? Number(value) : (value as string | number);
}

/** Rows with these keys that are still visible: others may have changed since the keys were found. */
function keysCondition(pks: readonly number[], { visible, values }: ListCondition): ListCondition {
  const where = (shape: RowShape): (SQL | undefined)[] => [
    sql`${shape.column("pk")} IN (SELECT value FROM json_each(${sql.placeholder("pks")}))`,
    visible.where,
  ];
  return { key: `found|${visible.key}`, where, values: { ...values, pks: JSON.stringify(pks) }, keys: null, visible };
}

/** Compiles the condition of a list. `scanned`: matches the search against each row instead of the full-text index. */
export function compileListCondition(
  resource: AnyResource,
  query: Omit<PageQuery, "start" | "limit" | "sort" | "skip">,
  selects: PreparedSelects,
  scanned = false,
): ListCondition {
  const keys: string[] = [];
  const values: Record<string, unknown> = {};
  const parts: ((shape: RowShape) => SQL | undefined)[] = [];
  const add = (key: string, part: (shape: RowShape) => SQL | undefined): void => {
    keys.push(key);
    parts.push(part);
  };
  for (const [field, id] of Object.entries(query.within ?? {})) {
    values[`w_${field}`] = id.toLowerCase();
    add(`w:${field}`, (shape) => fieldEquals(shape, field, `w_${field}`));
  }
  if (query.through) addThrough(query.through, selects, values, add);
  (query.filters ?? []).forEach((filter, at) => {
    const name = `f${at}`;
    Object.assign(values, filterValues(filter, name));
    add(filterKey(filter), (shape) => filterCondition(shape, filter, name));
  });
  const search = query.search ? searchCondition(query.search, selects.shape(resource).layout, scanned) : null;
  if (search) {
    Object.assign(values, search.values);
    add(`q:${search.key}`, search.where);
  }
  if (query.ids) {
    values.ids = JSON.stringify(query.ids.map((id) => id.toLowerCase()));
    add("ids", (shape) => sql`${shape.column("id")} IN (SELECT value FROM json_each(${sql.placeholder("ids")}))`);
  }
  if (query.pks) {
    values.pks = JSON.stringify(query.pks);
    add("pks", (shape) => sql`${shape.column("pk")} IN (SELECT value FROM json_each(${sql.placeholder("pks")}))`);
  }
  const seen = compileVisibility(query.scope ? query.scope.visible(resource) : "all");
  Object.assign(values, seen.values);
  add(`v:${seen.key}`, () => seen.where);
  const searchedAlone = search !== null && keys.length === 2 && seen.where === undefined;
  return {
    key: keys.join("&"),
    where: (shape) => parts.map((part) => part(shape)),
    values,
    keys: searchedAlone ? search.keys : null,
    visible: { key: seen.key, where: seen.where },
  };
}

function addThrough(
  through: NonNullable<PageQuery["through"]>,
  selects: PreparedSelects,
  values: Record<string, unknown>,
  add: (key: string, part: (shape: RowShape) => SQL) => void,
): void {
  const entries = Object.entries(through.within);
  for (const [field, id] of entries) values[`x_${field}`] = id.toLowerCase();
  add(
    `x:${through.resource}.${through.via}-${through.hiddenBy ?? ""}:${entries.map(([field]) => field).join(",")}`,
    (shape) => {
      const other = selects.shapeByName(through.resource);
      const via = other.layout.columnOf(through.via);
      const notHidden = through.hiddenBy === undefined ? undefined : fieldIsNull(other, through.hiddenBy);
      const where = and(...entries.map(([field]) => fieldEquals(other, field, `x_${field}`)), notHidden);
      return sql`${shape.column("pk")} IN (SELECT ${other.column(via?.name ?? "pk")} FROM ${sql.raw(other.layout.table)} t WHERE ${where})`;
    },
  );
}

export function pageClauses(
  shape: RowShape,
  condition: Pick<ListCondition, "where">,
  order: SortOrder,
  keyed: boolean,
  backwards: boolean,
): SelectClauses {
  const down = order.descending !== backwards;
  const by = order.expression(shape);
  const key = keyed
    ? sql`(${by}, ${shape.column("id")}) ${sql.raw(down ? "<" : ">")} (${sql.placeholder("keySort")}, ${sql.placeholder("keyId")})`
    : undefined;
  const way = sql.raw(down ? "DESC" : "ASC");
  return {
    where: and(...condition.where(shape), key),
    orderBy: [sql`${by} ${way}`, sql`${shape.column("id")} ${way}`],
    skip: "skip",
    keysFirst: true,
  };
}
