import { startEpoch } from "./hub/publish.ts";
import { FEED_HEAD } from "./hub/tables.ts";
import { adoptRestoredSite } from "./site/handshake.ts";
import type { ActivityContext } from "./site/sync-activities.ts";
import { getRecord, type TransactionProgram } from "./storage/transaction-program.ts";

/**
 * Prepares data restored from a backup before they are used: an appliance starts a new incarnation and does not repeat armed
 * routine commands; a cloud starts an epoch, so that every appliance compares all rows and accepts reused command numbers. Does
 * nothing without a link.
 */
export function* adoptRestoredData(journal: ActivityContext): TransactionProgram<void> {
  yield* adoptRestoredSite(journal);
  if (yield* getRecord(FEED_HEAD, "head")) yield* startEpoch(journal.newId(), journal.now);
}
