import type { RingDto } from "./ring-dto.ts";

/** A page of rings and the tokens of the neighbouring pages; null if there is none. */
export interface RingPage {
  rings: readonly RingDto[];
  previous: string | null;
  next: string | null;
}

/** Start of a page: after a ring, or before it when paging backward. */
interface PageCursor {
  way: "after" | "before";
  at: number;
  id: string;
}

/**
 * The page of at most `limit` rings at `start`: null for the first page, `end` for the last page, or a page token of the same
 * `list`. Null for an invalid page token. `rings` must be sorted by time, then id.
 */
export function paginateRings(
  rings: readonly RingDto[],
  { list, limit, start }: { list: string; limit: number; start: string | null },
): RingPage | null {
  const isToken = start !== null && start !== "end";
  const place = isToken ? decodePageToken(list, start) : null;
  if (isToken && !place) return null;
  const isBackward = start === "end" || place?.way === "before";
  const bound = place ? countBeforeCursor(rings, place) : isBackward ? rings.length : 0;
  const first = isBackward ? Math.max(0, bound - limit) : bound;
  const page = rings.slice(first, isBackward ? bound : bound + limit);
  const token = (way: PageCursor["way"], ring: RingDto | undefined): string | null =>
    ring ? encodePageToken(list, { way, at: ring.at, id: ring.id }) : null;
  return {
    rings: page,
    previous: first > 0 ? token("before", page[0]) : null,
    next: first + page.length < rings.length ? token("after", page.at(-1)) : null,
  };
}

/** Number of rings before a cursor. */
function countBeforeCursor(rings: readonly RingDto[], { way, at, id }: PageCursor): number {
  const isBeyond = (ring: RingDto): boolean =>
    ring.at > at || (ring.at === at && (way === "after" ? ring.id > id : ring.id >= id));
  const found = rings.findIndex(isBeyond);
  return found < 0 ? rings.length : found;
}

function encodePageToken(list: string, { way, at, id }: PageCursor): string {
  return Buffer.from(JSON.stringify(`${list} ${way} ${at} ${id}`)).toString("base64");
}

function decodePageToken(list: string, token: string): PageCursor | null {
  try {
    const text: unknown = JSON.parse(Buffer.from(token, "base64").toString("utf8"));
    if (typeof text !== "string" || !text.startsWith(`${list} `)) return null;
    const [way, at, id = ""] = text.slice(list.length + 1).split(" ");
    return way === "after" || way === "before" ? { way, at: Number(at), id } : null;
  } catch {
    return null;
  }
}
