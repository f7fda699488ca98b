import { and, sql } from "drizzle-orm/sql";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import type { AnyResource } from "../schema/resource.ts";
import { compileListCondition, type createPager, type SearchHits } from "./pager.ts";
import type { PreparedSelects, SelectClauses } from "./prepared-selects.ts";
import { fieldEquals, type RowShape } from "./row-shape.ts";
import { searchCondition } from "./search.ts";
import type { Page, PageQuery } from "./store.ts";

/** Lists append-only rows by a search, in chunks between which the event loop gets a turn. */
export type PageInChunks = <R extends AnyResource>(resource: R, query: PageQuery) => Promise<Page<R>>;

/** Rows scanned per chunk: about 3 ms. */
const CHUNK_SIZE = 500;
/** Maximum number of hits that may be sorted by any field; about 5 ms of work. */
const MAX_SORTED = 5_000;

/** Dependencies of the chunked pager. */
export interface ChunkedPagerDeps {
  selects: PreparedSelects;
  page: ReturnType<typeof createPager>;
  clock: Clock;
}

/**
 * Creates the list function for searches over append-only rows. If the full-text index finds few rows, one query
 * answers. Otherwise the rows are scanned in chunks to collect the matching keys, then the page is read. Append-only
 * rows never change their sort fields and get their keys in creation order, so with many hits only the keys around the
 * page are needed. Throws invalid-value on `sort` when too many hits would have to be sorted by a field other than
 * `createdAt`.
 */
export function createChunkedPager({ selects, page, clock }: ChunkedPagerDeps): PageInChunks {
  return async (resource, query) => {
    if (isSelective(resource, query)) return page(resource, query);
    const pks = await findKeys(resource, query);
    return page(resource, query, (start, limit, order) => {
      if (pks.length <= MAX_SORTED) return { pks, skip: query.skip ?? 0, total: pks.length };
      if (order.field !== "createdAt")
        throw invalidValue("sort", `Must be createdAt or -createdAt when more than ${MAX_SORTED} rows are found.`);
      const ordered = order.descending ? pks.toReversed() : pks;
      return selectKeysAround(ordered, query, limit, start && keyOf(resource, start.id));
    });
  };

  /** True when the full-text index finds few enough rows for one query. */
  function isSelective(resource: AnyResource, { search }: PageQuery): boolean {
    const found = search && searchCondition(search, selects.shape(resource).layout);
    if (!found?.keys) return false;
    const what = sql`(SELECT count(*) FROM (${found.keys} LIMIT ${sql.raw(String(MAX_SORTED + 1))}))`;
    const count = selects.value(resource, `few|${found.key}`, what, () => ({ limit: 1 }), found.values);
    return ((count ?? 0) as number) <= MAX_SORTED;
  }

  /** Keys of all matching rows, in key order. */
  async function findKeys(resource: AnyResource, query: PageQuery): Promise<number[]> {
    const condition = compileListCondition(resource, query, selects, true);
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
    const found: number[] = [];
    for (let above = 0; ; await yieldToEventLoop(clock)) {
      const values = { ...condition.values, above, skip: CHUNK_SIZE - 1 };
      const end = selects.value(resource, `slice|${parents.join()}`, sql`t."pk"`, last, values) as number | undefined;
      const upTo = end ?? Number.MAX_SAFE_INTEGER;
      const build = (shape: RowShape): SelectClauses => ({ where: and(...condition.where(shape), between(shape)) });
      const keys = sql`json_group_array(t."pk")`;
      const text = selects.value(resource, `found|${condition.key}`, keys, build, { ...values, upTo }) as string;
      found.push(...(JSON.parse(text) as number[]).sort((one, other) => one - other));
      if (end === undefined) return found;
      above = end;
    }
  }

  function keyOf(resource: AnyResource, id: string): number | null {
    const build = (shape: RowShape): SelectClauses => ({ where: fieldEquals(shape, "id", "id") });
    return (selects.value(resource, "key", sql`t."pk"`, build, { id }) ?? null) as number | null;
  }
}

/** The keys of the page plus one beyond each end. `from`: key of the row that the page token names. */
function selectKeysAround(
  ordered: readonly number[],
  { start, skip = 0 }: PageQuery,
  limit: number,
  from: number | null,
): SearchHits {
  const total = ordered.length;
  const part = (first: number, end: number, passed: number): SearchHits => ({
    pks: ordered.slice(Math.max(0, first), end),
    skip: passed,
    total,
  });
  if (start === "end") return part(total - skip - limit - 2, total, skip);
  if (start === undefined || start === "") return part(skip - 1, skip + limit + 2, Math.min(skip, 1));
  const at = from === null ? -1 : ordered.indexOf(from);
  if (at < 0) throw invalidValue("start", "The row that this page token refers to no longer exists.");
  return part(at - limit - skip - 2, at + limit + skip + 3, skip);
}
