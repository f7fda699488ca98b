import { startEpoch } from "./hub/publish.ts";
import { FEED_HEAD } from "./hub/tables.ts";
import { adoptRestoredSite } from "./site/handshake.ts";
import type { ActivityContext } from "./site/sync-activities.ts";
import { getRecord, type TransactionProgram } from "./storage/transaction-program.ts";

/**
 * Tells data that are brought back from a backup what they are, before anything uses them: an appliance's begin an
 * incarnation, in which no announcement sounds again; a cloud's begin an epoch, so that every appliance compares all it has
 * and takes commands whose numbers were given before. Does nothing where there was no link.
 */
export function* adoptRestoredData(journal: ActivityContext): TransactionProgram<void> {
  yield* adoptRestoredSite(journal);
  if (yield* getRecord(FEED_HEAD, "head")) yield* startEpoch(journal.newId(), journal.now);
}
