import { type Clock, nextTurn } from "../../base/clock.ts";
import { type ResourceType, targetOf } from "./document.ts";
import { parseFilter } from "./filter.ts";
import { type Candidate, compileFilter, keyIn, type Related, valuesOf } from "./matches.ts";
import { ScimRefusal } from "./refusal.ts";

/** What a list is asked for. @source RFC 7644 §3.4.2 */
export interface ListQuery {
  filter: string | null;
  sortBy: string | null;
  descending: boolean;
  /** From 1. */
  startIndex: number;
  count: number;
}

/** Where the resources of a kind are found. */
export interface Source {
  type: ResourceType;
  count(): number;
  /** Keys in the order of their making. */
  keys(skip: number, limit: number): number[];
  /** Those after a key, in the order of their making. */
  after(pk: number, limit: number): Candidate[];
  /** Those that have a value at an attribute that an index finds. */
  having(key: { name: string; value: string }): Candidate[];
  related: Related;
}

/** What of a list was asked for: internal keys in order, and how many there are in all. */
export interface Found {
  total: number;
  pks: readonly number[];
}

/** Looked at in one turn of the event loop: a few milliseconds. own choice */
const SLICE = 500;
/** Beyond so many nothing is sorted. own choice */
const MOST_SORTED = 100_000;

/**
 * Finds a page of a list. Where no index helps each resource is looked at, in slices. Throws ScimRefusal `invalidFilter`,
 * `invalidPath` for an unknown `sortBy`, `tooMany`.
 */
export async function findPage(source: Source, query: ListQuery, clock: Pick<Clock, "soon">): Promise<Found> {
  const skip = query.startIndex - 1;
  if (query.filter === null && query.sortBy === null) {
    return { total: source.count(), pks: query.count === 0 ? [] : source.keys(skip, query.count) };
  }
  const found: { pk: number; by: string | null }[] = [];
  const sortKey = query.sortBy === null ? null : sortKeyOf(source.type, query.sortBy);
  for await (const candidates of admitted(source, query.filter, clock)) {
    for (const candidate of candidates) found.push({ pk: candidate.pk, by: sortKey?.(candidate) ?? null });
    if (sortKey && found.length > MOST_SORTED) throw new ScimRefusal("tooMany", "There are too many to be sorted.");
  }
  if (sortKey) found.sort(byKey(query.descending));
  return { total: found.length, pks: found.slice(skip, skip + query.count).map(({ pk }) => pk) };
}

async function* admitted(
  source: Source,
  text: string | null,
  clock: Pick<Clock, "soon">,
): AsyncGenerator<readonly Candidate[]> {
  const filter = text === null ? null : parseFilter(text);
  const test = filter ? compileFilter(source.type, filter, source.related) : () => true;
  const key = filter && keyIn(source.type, filter);
  if (key) return yield source.having(key).filter(test);
  let last = 0;
  for (;;) {
    const slice = source.after(last, SLICE);
    yield slice.filter(test);
    if (slice.length < SLICE) return;
    last = slice.at(-1)?.pk ?? last;
    await nextTurn(clock);
  }
}

/** @source RFC 7644 §3.4.2.3: of several values the primary or first one counts. */
function sortKeyOf(type: ResourceType, path: string): (candidate: Candidate) => string | null {
  const target = targetOf(type, path);
  if (!target) throw new ScimRefusal("invalidPath", `There is no attribute ${path}.`);
  return ({ document }) => {
    const [first] = valuesOf(document, target);
    return first === undefined ? null : String(first).toLowerCase();
  };
}

/** What has no value comes last, or first when descending. @source RFC 7644 §3.4.2.3 */
function byKey(descending: boolean): (one: { by: string | null }, other: { by: string | null }) => number {
  const sign = descending ? -1 : 1;
  return ({ by: a }, { by: b }) => {
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? sign : -sign;
    return a < b ? -sign : sign;
  };
}
