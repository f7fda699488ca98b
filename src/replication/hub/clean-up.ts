import { drop, put, scan, type Work } from "../work.ts";
import { head } from "./publish.ts";
import { HEAD, LINKS, ROWS } from "./tables.ts";

/** Deletions are remembered this long. @source replication.md 3 */
const TOMBSTONE_MS = 90 * 24 * 3600_000;

/**
 * Forgets old deletions, oldest first, and raises the floor: who stands below it gets all rows anew. Those that an
 * appliance seen lately, or a snapshot under way, still needs are kept. At most `limit`; returns how many went.
 */
export function* forgetTombstones(now: number, keptMs = TOMBSTONE_MS, limit = 500): Work<number> {
  const links = yield* scan(LINKS);
  const needed = links.flatMap(({ applied, seen, hold, holdUntil }) => [
    ...(seen > now - keptMs ? [applied] : []),
    ...(hold !== null && (holdUntil ?? 0) > now ? [hold] : []),
  ]);
  const upTo = Math.min(...needed, Number.MAX_SAFE_INTEGER);
  const found = yield* scan(ROWS, { by: "tombs", where: [1], upTo, limit });
  const old = found.filter(({ at }) => at <= now - keptMs);
  for (const { type, id } of old) yield* drop(ROWS, type, id);
  const last = old.at(-1);
  const state = yield* head();
  if (last && last.seq > state.floor) yield* put(HEAD, { ...state, floor: last.seq });
  return old.length;
}
