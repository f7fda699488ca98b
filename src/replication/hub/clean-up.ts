import { drop, put, scan, type Work, type WorkStore } from "../work.ts";
import { type Concluded, expireUnsent } from "./commands.ts";
import { head } from "./publish.ts";
import { COMMANDS, DECIDED, HEAD, LINKS, ROWS, type SiteLink } from "./tables.ts";
import { retryWaiting } from "./up-feed.ts";

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

/** Links that are looked after in one transaction. own choice: with what is open for each, some ms */
const LINKS_AT_ONCE = 10;

/** Does all that is to be done now and then, a little of each, and others write in between; `lost` hears of expired commands. */
export async function tidy(
  store: Pick<WorkStore, "transact">,
  now: number,
  lost: (commands: readonly Concluded[]) => void,
): Promise<void> {
  await store.transact(() => forgetTombstones(now));
  let after: string | null = "";
  while (after !== null) {
    const from: string = after;
    const tidied = await store.transact(() => tidyLinks(now, from));
    after = tidied.after;
    lost(tidied.lost);
  }
  await store.transact(() => retryWaiting(now));
}

/** Looks after the next links; `after` is the last one, or null when there are no more. */
function* tidyLinks(now: number, after: string): Work<{ after: string | null; lost: Concluded[] }> {
  const links = yield* scan(LINKS, { after, limit: LINKS_AT_ONCE });
  const lost: Concluded[] = [];
  for (const link of links) {
    lost.push(...(yield* expireUnsent(link.endpoint, now)));
    yield* forgetSettled(link, now);
  }
  return { after: links.length < LINKS_AT_ONCE ? null : (links.at(-1)?.endpoint ?? null), lost };
}

/** Commands and decisions are remembered this long. @source replication.md 3: outcome known, then 30 days */
const SETTLED_MS = 30 * 24 * 3600_000;

/**
 * Forgets commands that ended and edits that were decided long ago, at most `limit` of each; the newest command of an
 * appliance stays, as its number is where the next one begins. An appliance keeps what it sent no longer than that.
 */
function* forgetSettled({ endpoint, inc }: SiteLink, now: number, keptMs = SETTLED_MS, limit = 200): Work<void> {
  const newest = (yield* scan(COMMANDS, { where: [endpoint], newestFirst: true, limit: 1 }))[0];
  const [oldest] = yield* scan(COMMANDS, { by: "open", where: [endpoint, 0], limit: 1 });
  const isDue = oldest !== undefined && oldest.at <= now - keptMs;
  const ended = isDue ? yield* scan(COMMANDS, { by: "open", where: [endpoint, 0], limit }) : [];
  for (const { cseq, at } of ended) {
    if (at > now - keptMs || cseq === newest?.cseq) break;
    yield* drop(COMMANDS, endpoint, cseq);
  }
  const [first] = yield* scan(DECIDED, { where: [endpoint], limit: 1 });
  const isYoung = first === undefined || (first.inc === inc && first.at > now - 2 * keptMs);
  for (const { inc: of, oseq, at } of isYoung ? [] : yield* scan(DECIDED, { where: [endpoint], limit })) {
    if (at > now - 2 * keptMs && of === inc) break;
    if (at > now - 2 * keptMs) continue;
    yield* drop(DECIDED, endpoint, of, oseq);
  }
}
