import { scanRecords, type TransactionProgram } from "../storage/transaction-program.ts";
import { readSyncState } from "./sync-state.ts";
import { REFUSED_ROWS } from "./tables.ts";

/** Connected for so long without being equal is a trouble. @source replication.md 7 */
const MAX_BEHIND_MS = 600_000;
/** So long a difference of digests is a trouble. @source own choice */
const MISMATCH_REPORT_MS = 3600_000;

/** What keeps this appliance from being equal to the cloud, in words; null when nothing does. `behindMs` is for how long it is behind. */
export function* findSyncError(now: number, behindMs: number): TransactionProgram<string | null> {
  const [parked] = yield* scanRecords(REFUSED_ROWS, { limit: 1 });
  if (parked) return `${parked.type} ${parked.id} of the cloud can't be written here: ${parked.reason}`;
  if (behindMs > MAX_BEHIND_MS) return "Connected for ten minutes, and still not equal to the cloud.";
  const { mismatchAt } = yield* readSyncState();
  const differs = mismatchAt !== null && now - mismatchAt < MISMATCH_REPORT_MS;
  return differs ? "Rows differed from the cloud's and were fetched anew." : null;
}
