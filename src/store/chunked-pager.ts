import { and, type SQL, sql } from "drizzle-orm";
import { type Clock, createTurnQueue } from "../lib/clock.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { PageStart } from "./page-token.ts";
import {
  compileListCondition,
  type ListCondition,
  type PageHits,
  type PageRequest,
  type Pager,
  pageClauses,
  type SortOrder,
} from "./pager.ts";
import type { PreparedSelects, SelectClauses } from "./prepared-selects.ts";
import { fieldEquals, type RowShape } from "./row-shape.ts";
import { hasOnlyTexts, searchCondition } from "./search.ts";
import { isIndexed } from "./search-index.ts";
import type { Page, PageQuery, SearchQuery } from "./store.ts";
import type { TableLayout } from "./table-layout.ts";

/** Lists rows of large tables in chunks between which the event loop gets a turn. */
export type PageInChunks = <R extends AnyResource>(resource: R, query: PageQuery) => Promise<Page<R>>;

/** Rows of a table whose lists are read in one go: less than 10 ms of work for any condition and order. */
const MAX_AT_ONCE = 5_000;
/** Rows per chunk: about 3 ms. Matching the words of a search against a row takes longer than any filter. */
const CHUNK_SIZE = 2_000;
const WORDS_CHUNK_SIZE = 500;
/** Keys that the full-text index returns at a time; each time costs up to 10 ms for a short prefix. */
const INDEX_CHUNK_SIZE = 8_000;
/** Hits that are sorted in one go; about 5 ms of work. */
const MAX_SORTED = 5_000;
/** Rows by which one search for a place in a list advances. */
const MAX_ADVANCE = 2_000;

/** Dependencies of the chunked pager. */
export interface ChunkedPagerDeps {
  selects: PreparedSelects;
  pager: Pager;
  clock: Clock;
}

/** Conditions that still have to be checked for the rows that `candidates` names; null: for all rows. */
interface Scan {
  candidates: readonly number[] | null;
  condition: ListCondition | null;
  chunkSize: number;
}

/**
 * Creates the list function for tables of any size. It finds the keys of all rows of the list chunk by chunk (through the
 * full-text index where it can), then those around the page, and then reads the page. A row that changes meanwhile is
 * taken as it was in its chunk, but never shown to those who may not see it any more.
 * @source docs/decisions/0411-expensive-reads.md
 */
export function createChunkedPager({ selects, pager, clock }: ChunkedPagerDeps): PageInChunks {
  const nextTurn = createTurnQueue(clock);

  return async (resource, query) => {
    const request = pager.parse(resource, query);
    if (isCheap(resource, query, request)) return pager.read(resource, query, request, null);
    await nextTurn();
    const hits = await selectHits(resource, await findKeys(resource, query), request);
    await nextTurn();
    return pager.read(resource, query, request, hits);
  };

  /** True for lists that an index gives in their order, for small tables, and for rows named by the caller. */
  function isCheap(resource: AnyResource, query: PageQuery, { order, condition }: PageRequest): boolean {
    if (query.ids || query.through) return true;
    const { layout } = selects.shape(resource);
    const matchesWords = query.search && !isIndexed(layout) && hasText(query.search);
    if (extentOf(resource, layout) < (matchesWords ? WORDS_CHUNK_SIZE : MAX_AT_ONCE)) return true;
    const isWhole = !query.search && !query.filters?.length && !query.pks && condition.visible.where === undefined;
    return isWhole && !query.within && isIndexedOrder(layout, order);
  }

  /** Difference of the newest and the oldest key: the table has at most one row more. */
  function extentOf(resource: AnyResource, { table }: TableLayout): number {
    const main = sql.raw(`main."${table}"`);
    const extent = sql`(SELECT max(pk) FROM ${main}) - (SELECT min(pk) FROM ${main})`;
    return (selects.value(resource, "extent", extent, () => ({ limit: 1 }), {}) ?? 0) as number;
  }

  /** Keys of all rows of the list, in key order. */
  async function findKeys(resource: AnyResource, query: PageQuery): Promise<readonly number[]> {
    const { candidates, condition, chunkSize } = await planScan(resource, query);
    if (!condition) return candidates ?? [];
    if (candidates) return filterKeys(resource, candidates, condition, chunkSize);
    return scanTable(resource, query, condition, chunkSize);
  }

  async function planScan(resource: AnyResource, query: PageQuery): Promise<Scan> {
    const { layout } = selects.shape(resource);
    const { texts, rest } = query.search && isIndexed(layout) ? splitSearch(query.search) : NO_TEXTS;
    const { search: requested, pks, ...others } = query;
    const search = texts ? rest : requested;
    const remaining = { ...others, ...(search ? { search } : {}) };
    const condition = compileListCondition(resource, remaining, selects, true);
    const chunkSize = search && hasText(search) ? WORDS_CHUNK_SIZE : CHUNK_SIZE;
    const found = texts ? await searchIndex(resource, texts, layout) : null;
    const given = pks ? sortKeys(pks) : null;
    const isDone = texts && !search && !query.filters?.length && !query.within;
    return {
      candidates: found && given ? intersect(found, given) : (found ?? given),
      condition: isDone && condition.visible.where === undefined ? null : condition,
      chunkSize,
    };
  }

  /** Keys that the full-text index finds, in key order. */
  async function searchIndex(resource: AnyResource, texts: SearchQuery, layout: TableLayout): Promise<number[]> {
    const { keys, key, values } = searchCondition(texts, layout);
    const found: number[] = [];
    if (!keys) return found;
    const rows = sql`SELECT k.rowid AS pk FROM (${keys}) k WHERE k.rowid > ${sql.placeholder("above")}
      ORDER BY 1 LIMIT ${sql.raw(String(INDEX_CHUNK_SIZE))}`;
    const what = sql`(SELECT json_group_array(pk) FROM (${rows}))`;
    for (let above = 0; ; await nextTurn()) {
      const text = selects.value(resource, `index|${key}`, what, () => ({ limit: 1 }), { ...values, above });
      const more = JSON.parse((text ?? "[]") as string) as number[];
      for (const pk of more) found.push(pk);
      if (more.length < INDEX_CHUNK_SIZE) return found;
      above = more.at(-1) as number;
    }
  }

  /** Those of the candidates that fulfil the condition. */
  async function filterKeys(
    resource: AnyResource,
    candidates: readonly number[],
    condition: ListCondition,
    chunkSize: number,
  ): Promise<number[]> {
    const found: number[] = [];
    const build = (shape: RowShape): SelectClauses => ({ where: and(...condition.where(shape), isAmong(shape)) });
    for (let from = 0; from < candidates.length; from += chunkSize) {
      if (from > 0) await nextTurn();
      const among = JSON.stringify(candidates.slice(from, from + chunkSize));
      found.push(...keysWhere(resource, `among|${condition.key}`, build, { ...condition.values, among }));
    }
    return found;
  }

  /** Keys of the rows of the table, or below the parents in the path, that fulfil the condition. */
  async function scanTable(
    resource: AnyResource,
    query: PageQuery,
    condition: ListCondition,
    chunkSize: number,
  ): Promise<number[]> {
    const parents = Object.keys(query.within ?? {});
    const between = (shape: RowShape) =>
      sql`${shape.column("pk")} > ${sql.placeholder("above")} AND ${shape.column("pk")} <= ${sql.placeholder("upTo")}`;
    const last = (shape: RowShape): SelectClauses => ({
      where: and(
        ...parents.map((name) => fieldEquals(shape, name, `w_${name}`)),
        sql`${shape.column("pk")} > ${sql.placeholder("above")}`,
      ),
      orderBy: [shape.column("pk")],
      ...{ limit: 1, skip: "skip" },
    });
    const build = (shape: RowShape): SelectClauses => ({ where: and(...condition.where(shape), between(shape)) });
    const found: number[] = [];
    for (let above = 0; ; await nextTurn()) {
      const values = { ...condition.values, above, skip: chunkSize - 1 };
      const end = selects.value(resource, `slice|${parents.join()}`, sql`t."pk"`, last, values) as number | undefined;
      const upTo = end ?? Number.MAX_SAFE_INTEGER;
      found.push(...keysWhere(resource, `between|${condition.key}`, build, { ...values, upTo }));
      if (end === undefined) return found;
      above = end;
    }
  }

  function keysWhere(
    resource: AnyResource,
    key: string,
    build: (shape: RowShape) => SelectClauses,
    values: Record<string, unknown>,
  ): readonly number[] {
    const text = selects.value(resource, key, sql`json_group_array(t."pk")`, build, values) as string;
    return sortKeys(JSON.parse(text) as number[]);
  }

  /** Enough hits to read the page, out of those with these keys. */
  async function selectHits(resource: AnyResource, pks: readonly number[], request: PageRequest): Promise<PageHits> {
    const { start, backwards, limit, skip, order } = request;
    const total = pks.length;
    if (total <= MAX_SORTED) return { pks, skip, total };
    const nearest = (from: SortKey | null, back: boolean, count: number): Promise<Place[]> =>
      findNearest(resource, pks, { order, from, back, count });
    const named = start && keyOf(resource, start.id);
    const behind = start ? (await nearest(start, !backwards, 1)).map(({ pk }) => pk) : [];
    if (named !== null && pks.includes(named)) behind.push(named);
    // Of the rows that are skipped only one is needed: it tells that rows precede the page.
    let last: Place | null = null;
    let toSkip = skip;
    for (; toSkip > MAX_ADVANCE; toSkip -= MAX_ADVANCE) {
      const passed = await nearest(last ?? start, backwards, MAX_ADVANCE);
      if (passed.length < MAX_ADVANCE) break;
      last = passed[MAX_ADVANCE - 1] as Place;
    }
    const ahead = await nearest(last ?? start, backwards, toSkip + limit + 1);
    const near = (last ? [last, ...ahead] : ahead).map(({ pk }) => pk);
    return { pks: [...behind, ...near], skip: toSkip + (last ? 1 : 0), total };
  }

  /** The first places in the order of the list from a place (exclusive; null: its beginning); at least `count`. */
  async function findNearest(
    resource: AnyResource,
    pks: readonly number[],
    { order, from, back, count }: { order: SortOrder; from: SortKey | null; back: boolean; count: number },
  ): Promise<Place[]> {
    // Few different limits, because each one is a separate statement.
    const limit = 2 ** Math.ceil(Math.log2(Math.max(count, 2)));
    const select = (among: readonly number[], bound: Place | null): Place[] =>
      selectPlaces(resource, among, { order, from, back, bound, limit });
    let places: Place[] = [];
    let bound: Place | null = null;
    for (let at = 0; at < pks.length; at += CHUNK_SIZE) {
      if (at > 0) await nextTurn();
      for (const place of select(pks.slice(at, at + CHUNK_SIZE), bound)) places.push(place);
      const isOver = at + CHUNK_SIZE >= pks.length;
      if (!isOver && places.length < limit + CHUNK_SIZE) continue;
      places = select(
        places.map(({ pk }) => pk),
        null,
      );
      bound = places.length < limit ? null : (places.at(-1) ?? null);
    }
    return places.slice(0, count);
  }

  function selectPlaces(
    resource: AnyResource,
    among: readonly number[],
    { order, from, back, bound, limit }: PlaceQuery,
  ): Place[] {
    const shape = selects.shape(resource);
    const { where, orderBy = [] } = pageClauses(shape, { where: () => [isAmong(shape)] }, order, from !== null, back);
    const by = order.expression(shape);
    const isBefore = sql`(${by}, ${shape.column("id")}) ${sql.raw(order.descending === back ? "<" : ">")} (${sql.placeholder("boundSort")}, ${sql.placeholder("boundId")})`;
    const rows = sql`SELECT t."pk" AS pk, ${by} AS v, t."id" AS id FROM ${shape.from}
      WHERE ${and(where, bound ? isBefore : undefined)} ORDER BY ${sql.join(orderBy, sql`, `)} LIMIT ${sql.raw(String(limit))}`;
    const what = sql`(SELECT json_group_array(json_array(pk, v, id)) FROM (${rows}))`;
    const key = `places|${order.field}${order.descending}${back}|${from ? "k" : ""}${bound ? "b" : ""}|${limit}`;
    const text = selects.value(resource, key, what, () => ({ limit: 1 }), {
      among: JSON.stringify(among),
      ...{ keySort: from?.sortValue, keyId: from?.id, boundSort: bound?.sortValue, boundId: bound?.id },
    });
    const found = JSON.parse((text ?? "[]") as string) as [number, PageStart["sortValue"], string][];
    return found.map(([pk, sortValue, id]) => ({ pk, sortValue, id }));
  }

  function keyOf(resource: AnyResource, id: string): number | null {
    const build = (shape: RowShape): SelectClauses => ({ where: fieldEquals(shape, "id", "id") });
    return (selects.value(resource, "key", sql`t."pk"`, build, { id }) ?? null) as number | null;
  }
}

/** A row's place in the order of a list. */
type Place = { pk: number } & SortKey;
type SortKey = Pick<PageStart, "sortValue" | "id">;

interface PlaceQuery {
  order: SortOrder;
  from: SortKey | null;
  back: boolean;
  /** Only places before this one are of interest. */
  bound: Place | null;
  limit: number;
}

const NO_TEXTS = { texts: null, rest: undefined };

/** Splits a search into what the full-text index answers and what is left to check. */
function splitSearch(search: SearchQuery): { texts: SearchQuery | null; rest: SearchQuery | undefined } {
  if (hasOnlyTexts(search)) return { texts: search, rest: undefined };
  if (!("all" in search)) return { texts: null, rest: search };
  const texts = search.all.filter(hasOnlyTexts);
  const rest = search.all.filter((part) => !hasOnlyTexts(part));
  return { texts: texts.length > 0 ? { all: texts } : null, rest: { all: rest } };
}

function hasText(search: SearchQuery): boolean {
  if ("all" in search) return search.all.some(hasText);
  if ("any" in search) return search.any.some(hasText);
  return "text" in search;
}

/** True for orders that have an index in every table with the field. */
function isIndexedOrder(layout: TableLayout, { field }: SortOrder): boolean {
  return field === "createdAt" || (field === "name" && layout.columnOf(field)?.spec.required === true);
}

function isAmong(shape: RowShape): SQL {
  return sql`${shape.column("pk")} IN (SELECT value FROM json_each(${sql.placeholder("among")}))`;
}

function sortKeys(pks: readonly number[]): number[] {
  return Array.from(Float64Array.from(pks).sort());
}

/** Keys that are in both ascending lists. */
function intersect(some: readonly number[], others: readonly number[]): number[] {
  let at = 0;
  return some.filter((pk) => {
    while (at < others.length && (others[at] as number) < pk) at++;
    return others[at] === pk;
  });
}
