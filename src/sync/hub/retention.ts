import type { ReplicatedTypes } from "../protocol/replicated-types.ts";
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
import { pruneLateResults, retryWaitingEdit, retryWaitingRows } from "./upstream-feed.ts";

/** Tombstones are kept this long. @source docs/decisions/0040-replication.md, Section 3 */
const TOMBSTONE_RETENTION_MS = 90 * 24 * 3600_000;

/**
 * Deletes old tombstones, oldest first, and raises the floor: appliances below it get a full resync. Tombstones needed
 * by a recently seen appliance or by a snapshot are kept. At most `limit`; returns the number deleted.
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

/** @source docs/decisions/0300-sync-limits.md */
const LINKS_PER_TRANSACTION = 10;
/** Waiting edits that are tried again at a time, each in its own transaction. @source docs/decisions/0465-waiting-edits.md */
const EDITS_PER_RETRY = 50;

/** Runs all periodic retention in small transactions; `lost` receives expired commands. */
export async function runHubRetention(
  store: Pick<TransactionStore, "transact">,
  now: number,
  types: ReplicatedTypes,
  lost: (commands: readonly ConcludedCommand[]) => void,
): Promise<void> {
  await store.transact(() => pruneTombstones(now));
  let after: string | null = "";
  while (after !== null) {
    const from: string = after;
    const pruned = await store.transact(() => pruneLinks(now, from));
    after = pruned.after;
    lost(pruned.lost);
  }
  await store.transact(function* () {
    yield* retryWaitingRows(types, now);
    yield* pruneLateResults(now);
  });
  for (let retried = 0; retried < EDITS_PER_RETRY; retried += 1)
    if (!(await store.transact(() => retryWaitingEdit(types, now)))) break;
}

/** Handles the next links; `after` is the last one, or null if there are no more. */
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

/** Commands and decisions are kept this long. @source docs/decisions/0040-replication.md, Section 3 */
const SETTLED_RETENTION_MS = 30 * 24 * 3600_000;

/**
 * Deletes commands that ended and edits that were decided before the retention period, at most `limit` of each. The
 * newest command of an appliance stays, because the next one continues its numbering. Appliances keep sent records no
 * longer.
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
