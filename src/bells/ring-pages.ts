import type { ToldRing } from "./told-rings.ts";

/** A page of rings, and the tokens of the pages beside it; null where there is none. */
export interface RingPage {
  rings: readonly ToldRing[];
  previous: string | null;
  next: string | null;
}

/** Where a page begins: just after a ring, or, going backwards, just before it. */
interface Place {
  way: "after" | "before";
  at: number;
  id: string;
}

/**
 * The page of at most `limit` rings that `start` asks for: null for the first one, `end` for the last one, or a token of
 * another page of the same `list`. Null for a token that it did not issue. `rings` stand in order of time, then id.
 */
export function ringPage(
  rings: readonly ToldRing[],
  { list, limit, start }: { list: string; limit: number; start: string | null },
): RingPage | null {
  const isToken = start !== null && start !== "end";
  const place = isToken ? readToken(list, start) : null;
  if (isToken && !place) return null;
  const isBackward = start === "end" || place?.way === "before";
  const bound = place ? countUpTo(rings, place) : isBackward ? rings.length : 0;
  const first = isBackward ? Math.max(0, bound - limit) : bound;
  const page = rings.slice(first, isBackward ? bound : bound + limit);
  const token = (way: Place["way"], ring: ToldRing | undefined): string | null =>
    ring ? makeToken(list, { way, at: ring.at, id: ring.id }) : null;
  return {
    rings: page,
    previous: first > 0 ? token("before", page[0]) : null,
    next: first + page.length < rings.length ? token("after", page.at(-1)) : null,
  };
}

/** How many rings lie before a place. */
function countUpTo(rings: readonly ToldRing[], { way, at, id }: Place): number {
  const isBeyond = (ring: ToldRing): boolean =>
    ring.at > at || (ring.at === at && (way === "after" ? ring.id > id : ring.id >= id));
  const found = rings.findIndex(isBeyond);
  return found < 0 ? rings.length : found;
}

function makeToken(list: string, { way, at, id }: Place): string {
  return Buffer.from(JSON.stringify(`${list} ${way} ${at} ${id}`)).toString("base64");
}

function readToken(list: string, token: string): Place | null {
  try {
    const text: unknown = JSON.parse(Buffer.from(token, "base64").toString("utf8"));
    if (typeof text !== "string" || !text.startsWith(`${list} `)) return null;
    const [way, at, id = ""] = text.slice(list.length + 1).split(" ");
    return way === "after" || way === "before" ? { way, at: Number(at), id } : null;
  } catch {
    return null;
  }
}
