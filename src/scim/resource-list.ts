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

/** A list query. @source RFC 7644 §3.4.2 */
export interface ScimListQuery {
  filter: string | null;
  sortBy: string | null;
  descending: boolean;
  /** 1-based. */
  startIndex: number;
  count: number;
}

/** Reads the resources of one type. */
export interface ScimResourceSource {
  type: ScimResourceType;
  count(): number;
  /** Internal keys in creation order. */
  keys(skip: number, limit: number): number[];
  /** Resources after a key, in creation order. */
  after(pk: number, limit: number): ScimCandidate[];
  /** Resources with this value of an indexed attribute. */
  findByKey(key: { name: string; value: string }): ScimCandidate[];
  relatedTo: RelatedKeys;
}

/** One page: internal keys in order, and the total number of matches. */
export interface ScimListResult {
  total: number;
  pks: readonly number[];
}

/** Resources scanned per turn of the event loop: a few milliseconds. */
const CHUNK_SIZE = 500;
/** Maximum number of matches that are sorted. */
const MAX_SORTED = 100_000;

/**
 * Finds a page of a list. Without a usable index it scans all resources in chunks. Throws ScimRequestError
 * `invalidFilter`, `invalidPath` for an unknown `sortBy`, `tooMany`.
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
    if (sortKey && found.length > MAX_SORTED)
      throw new ScimRequestError("tooMany", `Sorting is not supported for more than ${MAX_SORTED} resources.`);
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
    const chunk = source.after(last, CHUNK_SIZE);
    yield chunk.filter(test);
    if (chunk.length < CHUNK_SIZE) return;
    last = chunk.at(-1)?.pk ?? last;
    await yieldToEventLoop(clock);
  }
}

/** Multi-valued attributes sort by their primary or first value. @source RFC 7644 §3.4.2.3 */
function compileSortKey(type: ScimResourceType, path: string): (candidate: ScimCandidate) => string | null {
  const target = resolveAttribute(type, path);
  if (!target) throw new ScimRequestError("invalidPath", `Attribute ${path} does not exist.`);
  return ({ document }) => {
    const [first] = readAttributeValues(document, target);
    return first === undefined ? null : String(first).toLowerCase();
  };
}

/** Resources without a value sort last, or first when descending. @source RFC 7644 §3.4.2.3 */
function compareKeys(descending: boolean): (one: { by: string | null }, other: { by: string | null }) => number {
  const sign = descending ? -1 : 1;
  return ({ by: a }, { by: b }) => {
    if (a === b) return 0;
    if (a === null || b === null) return a === null ? sign : -sign;
    return a < b ? -sign : sign;
  };
}
