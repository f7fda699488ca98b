import { and, sql } from "drizzle-orm/sql";
import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { invalidValue } from "../lib/errors.ts";
import type { AnyResource } from "../schema/resource.ts";
import { compileListCondition, type createPager, type SearchHits } from "./pager.ts";
import type { PreparedSelects, SelectClauses } from "./prepared-selects.ts";
import { fieldEquals, type RowShape } from "./row-shape.ts";
import { searchCondition } from "./search.ts";
import type { Page, PageQuery } from "./store.ts";

/** Lists facts that are searched, of which there may be very many, with turns of the event loop in between. */
export type PageInChunks = <R extends AnyResource>(resource: R, query: PageQuery) => Promise<Page<R>>;

/** Rows searched in one go: about 3 ms. */
const CHUNK_SIZE = 500;
/** Rows that may be sorted by anything in one go. own choice: about 5 ms of work. */
const MAX_SORTED = 5_000;

/** What `createFactPager` needs. */
export interface ChunkedPagerDeps {
  selects: PreparedSelects;
  page: ReturnType<typeof createPager>;
  clock: Clock;
}

/**
 * Makes the list function of searched facts. Where the index finds many rows, or there is none, each row is looked at in
 * slices, which give the keys of all that are found; then the page is read. Facts are never
 * changed in what they are sorted by and get their keys as they are made, so that of very many found the keys next to the
 * page are enough for it. Throws invalid-value on `sort` when very many would have to be sorted by something else.
 */
export function createChunkedPager({ selects, page, clock }: ChunkedPagerDeps): PageInChunks {
  return async (resource, query) => {
    if (isSelective(resource, query)) return page(resource, query);
    const pks = await findKeys(resource, query);
    return page(resource, query, (start, limit, order) => {
      if (pks.length <= MAX_SORTED) return { pks, skip: query.skip ?? 0, total: pks.length };
      if (order.field !== "createdAt") throw invalidValue("sort", "Too many are found to sort them by it.");
      const ordered = order.descending ? pks.toReversed() : pks;
      return selectKeysAround(ordered, query, limit, start && keyOf(resource, start.id));
    });
  };

  /** True when the full-text index finds few enough rows to read them in one go. */
  function isSelective(resource: AnyResource, { search }: PageQuery): boolean {
    const found = search && searchCondition(search, selects.shape(resource).layout);
    if (!found?.keys) return false;
    const what = sql`(SELECT count(*) FROM (${found.keys} LIMIT ${sql.raw(String(MAX_SORTED + 1))}))`;
    const count = selects.value(resource, `few|${found.key}`, what, () => ({ limit: 1 }), found.values);
    return ((count ?? 0) as number) <= MAX_SORTED;
  }

  /** Keys of all rows that a list shows, in order. */
  async function findKeys(resource: AnyResource, query: PageQuery): Promise<number[]> {
    const shown = compileListCondition(resource, query, selects, true);
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
      const values = { ...shown.values, above, skip: CHUNK_SIZE - 1 };
      const end = selects.value(resource, `slice|${parents.join()}`, sql`t."pk"`, last, values) as number | undefined;
      const upTo = end ?? Number.MAX_SAFE_INTEGER;
      const build = (shape: RowShape): SelectClauses => ({ where: and(...shown.where(shape), between(shape)) });
      const keys = sql`json_group_array(t."pk")`;
      const text = selects.value(resource, `found|${shown.key}`, keys, build, { ...values, upTo }) as string;
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

/** The keys that a page and a look beyond both its ends can reach. `from`: key of the row that its token names. */
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
  if (at < 0) throw invalidValue("start", "That place in the list is gone.");
  return part(at - limit - skip - 2, at + limit + skip + 3, skip);
}
