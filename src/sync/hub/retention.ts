import {
  deleteRecord,
  putRecord,
  scanRecords,
  type TransactionProgram,
  type TransactionStore,
} from "../storage/transaction-program.ts";
import { type ConcludedCommand, expireUnsentCommands } from "./issued-commands.ts";
import { readFeedHead } from "./publish.ts";
import { DECIDED_EDITS, FEED_HEAD, FEED_RECORDS, ISSUED_COMMANDS, LINK_RECORDS, type LinkRecord } from "./tables.ts";
import { retryWaitingRows } from "./upstream-feed.ts";

/** Deletions are remembered this long. @source replication.md 3 */
const TOMBSTONE_RETENTION_MS = 90 * 24 * 3600_000;

/**
 * Forgets old deletions, oldest first, and raises the floor: who stands below it gets all rows anew. Those that an
 * appliance seen lately, or a snapshot under way, still needs are kept. At most `limit`; returns how many went.
 */
export function* pruneTombstones(
  now: number,
  keptMs = TOMBSTONE_RETENTION_MS,
  limit = 500,
): TransactionProgram<number> {
  const links = yield* scanRecords(LINK_RECORDS);
  const needed = links.flatMap(({ applied, seen, hold, holdUntil }) => [
    ...(seen > now - keptMs ? [applied] : []),
    ...(hold !== null && (holdUntil ?? 0) > now ? [hold] : []),
  ]);
  const upTo = Math.min(...needed, Number.MAX_SAFE_INTEGER);
  const found = yield* scanRecords(FEED_RECORDS, { by: "tombs", where: [1], upTo, limit });
  const old = found.filter(({ at }) => at <= now - keptMs);
  for (const { type, id } of old) yield* deleteRecord(FEED_RECORDS, type, id);
  const last = old.at(-1);
  const state = yield* readFeedHead();
  if (last && last.seq > state.floor) yield* putRecord(FEED_HEAD, { ...state, floor: last.seq });
  return old.length;
}

/** Links that are looked after in one transaction. own choice: with what is open for each, some ms */
const LINKS_PER_TRANSACTION = 10;

/** Does all that is to be done now and then, a little of each, and others write in between; `lost` hears of expired commands. */
export async function runHubRetention(
  store: Pick<TransactionStore, "transact">,
  now: number,
  lost: (commands: readonly ConcludedCommand[]) => void,
): Promise<void> {
  await store.transact(() => pruneTombstones(now));
  let after: string | null = "";
  while (after !== null) {
    const from: string = after;
    const tidied = await store.transact(() => pruneLinks(now, from));
    after = tidied.after;
    lost(tidied.lost);
  }
  await store.transact(() => retryWaitingRows(now));
}

/** Looks after the next links; `after` is the last one, or null when there are no more. */
function* pruneLinks(
  now: number,
  after: string,
): TransactionProgram<{ after: string | null; lost: ConcludedCommand[] }> {
  const links = yield* scanRecords(LINK_RECORDS, { after, limit: LINKS_PER_TRANSACTION });
  const lost: ConcludedCommand[] = [];
  for (const link of links) {
    lost.push(...(yield* expireUnsentCommands(link.endpoint, now)));
    yield* pruneSettled(link, now);
  }
  return { after: links.length < LINKS_PER_TRANSACTION ? null : (links.at(-1)?.endpoint ?? null), lost };
}

/** Commands and decisions are remembered this long. @source replication.md 3: outcome known, then 30 days */
const SETTLED_RETENTION_MS = 30 * 24 * 3600_000;

/**
 * Forgets commands that ended and edits that were decided long ago, at most `limit` of each; the newest command of an
 * appliance stays, as its number is where the next one begins. An appliance keeps what it sent no longer than that.
 */
function* pruneSettled(
  { endpoint, inc }: LinkRecord,
  now: number,
  keptMs = SETTLED_RETENTION_MS,
  limit = 200,
): TransactionProgram<void> {
  const newest = (yield* scanRecords(ISSUED_COMMANDS, { where: [endpoint], newestFirst: true, limit: 1 }))[0];
  const [oldest] = yield* scanRecords(ISSUED_COMMANDS, { by: "open", where: [endpoint, 0], limit: 1 });
  const isDue = oldest !== undefined && oldest.at <= now - keptMs;
  const ended = isDue ? yield* scanRecords(ISSUED_COMMANDS, { by: "open", where: [endpoint, 0], limit }) : [];
  for (const { cseq, at } of ended) {
    if (at > now - keptMs || cseq === newest?.cseq) break;
    yield* deleteRecord(ISSUED_COMMANDS, endpoint, cseq);
  }
  const [first] = yield* scanRecords(DECIDED_EDITS, { where: [endpoint], limit: 1 });
  const isYoung = first === undefined || (first.inc === inc && first.at > now - 2 * keptMs);
  for (const { inc: of, oseq, at } of isYoung ? [] : yield* scanRecords(DECIDED_EDITS, { where: [endpoint], limit })) {
    if (at > now - 2 * keptMs && of === inc) break;
    if (at > now - 2 * keptMs) continue;
    yield* deleteRecord(DECIDED_EDITS, endpoint, of, oseq);
  }
}
