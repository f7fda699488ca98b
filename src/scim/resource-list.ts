import { type Clock, yieldToEventLoop } from "../lib/clock.ts";
import { resolveAttribute, type ScimResourceType } from "./document.ts";
import {
  compileScimFilter,
  findIndexKey,
  type RelatedKeys,
  readAttributeValues,
  type ScimCandidate,
} from "./filter-evaluator.ts";
import { parseScimFilter } from "./filter-parser.ts";
import { ScimRequestError } from "./scim-error.ts";

/** What a list is asked for. @source RFC 7644 §3.4.2 */
export interface ScimListQuery {
  filter: string | null;
  sortBy: string | null;
  descending: boolean;
  /** From 1. */
  startIndex: number;
  count: number;
}

/** Where the resources of a kind are found. */
export interface ScimResourceSource {
  type: ScimResourceType;
  count(): number;
  /** Keys in the order of their making. */
  keys(skip: number, limit: number): number[];
  /** Those after a key, in the order of their making. */
  after(pk: number, limit: number): ScimCandidate[];
  /** Those that have a value at an attribute that an index finds. */
  findByKey(key: { name: string; value: string }): ScimCandidate[];
  relatedTo: RelatedKeys;
}

/** What of a list was asked for: internal keys in order, and how many there are in all. */
export interface ScimListResult {
  total: number;
  pks: readonly number[];
}

/** Looked at in one turn of the event loop: a few milliseconds. own choice */
const CHUNK_SIZE = 500;
/** Beyond so many nothing is sorted. own choice */
const MAX_SORTED = 100_000;

/**
 * Finds a page of a list. Where no index helps each resource is looked at, in slices. Throws ScimRequestError `invalidFilter`,
 * `invalidPath` for an unknown `sortBy`, `tooMany`.
 */
export async function findScimPage(
  source: ScimResourceSource,
  query: ScimListQuery,
  clock: Pick<Clock, "defer">,
): Promise<ScimListResult> {
  const skip = query.startIndex - 1;
  if (query.filter === null && query.sortBy === null) {
    return { total: source.count(), pks: query.count === 0 ? [] : source.keys(skip, query.count) };
  }
  const found: { pk: number; by: string | null }[] = [];
  const sortKey = query.sortBy === null ? null : compileSortKey(source.type, query.sortBy);
  for await (const candidates of matchingCandidates(source, query.filter, clock)) {
    for (const candidate of candidates) found.push({ pk: candidate.pk, by: sortKey?.(candidate) ?? null });
    if (sortKey && found.length > MAX_SORTED) throw new ScimRequestError("tooMany", "There are too many to be sorted.");
  }
  if (sortKey) found.sort(compareKeys(query.descending));
  return { total: found.length, pks: found.slice(skip, skip + query.count).map(({ pk }) => pk) };
}

async function* matchingCandidates(
  source: ScimResourceSource,
  text: string | null,
  clock: Pick<Clock, "defer">,
): AsyncGenerator<readonly ScimCandidate[]> {
  const filter = text === null ? null : parseScimFilter(text);
  const test = filter ? compileScimFilter(source.type, filter, source.relatedTo) : () => true;
  const key = filter && findIndexKey(source.type, filter);
  if (key) return yield source.findByKey(key).filter(test);
  let last = 0;
  for (;;) {
    const slice = source.after(last, CHUNK_SIZE);
    yield slice.filter(test);
    if (slice.length < CHUNK_SIZE) return;
    last = slice.at(-1)?.pk ?? last;
    await yieldToEventLoop(clock);
  }
}

/** @source RFC 7644 §3.4.2.3: of several values the primary or first one counts. */
function compileSortKey(type: ScimResourceType, path: string): (candidate: ScimCandidate) => string | null {
  const target = resolveAttribute(type, path);
  if (!target) throw new ScimRequestError("invalidPath", `There is no attribute ${path}.`);
  return ({ document }) => {
    const [first] = readAttributeValues(document, target);
    return first === undefined ? null : String(first).toLowerCase();
  };
}

/** What has no value comes last, or first when descending. @source RFC 7644 §3.4.2.3 */
function compareKeys(descending: boolean): (one: { by: string | null }, other: { by: string | null }) => number {
  const sign = descending ? -1 : 1;
  return ({ by: a }, { by: b }) => {
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? sign : -sign;
    return a < b ? -sign : sign;
  };
}
