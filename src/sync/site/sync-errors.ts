import { sentence } from "../../lib/sentences/sentences.ts";
import { scanRecords, type TransactionProgram } from "../storage/transaction-program.ts";
import { readInitialSyncReport } from "./initial-sync-report.ts";
import { readSyncState } from "./sync-state.ts";
import { REFUSED_ROWS } from "./tables.ts";

/** Connected for this long without being in sync is an error. @source docs/decisions/0040-replication.md, Section 7 */
const MAX_BEHIND_MS = 600_000;
/** How long a digest mismatch counts as an error. @source docs/decisions/0300-sync-limits.md */
const MISMATCH_REPORT_MS = 3600_000;

/** Why this appliance is not in sync with the cloud; null if it is. `behindMs` is how long it has been behind. */
export function* findSyncError(now: number, behindMs: number): TransactionProgram<string | null> {
  const [refused] = yield* scanRecords(REFUSED_ROWS, { limit: 1 });
  if (refused) return sentence("sync.row-refused", { type: refused.type, id: refused.id, reason: refused.reason });
  const initialSync = yield* readInitialSyncReport();
  if (initialSync?.state === "differs")
    return sentence("sync.differs", { count: initialSync.differences.length + initialSync.more });
  if (behindMs > MAX_BEHIND_MS) return sentence("sync.behind");
  const { mismatchAt } = yield* readSyncState();
  const differs = mismatchAt !== null && now - mismatchAt < MISMATCH_REPORT_MS;
  return differs ? sentence("sync.repaired") : null;
}
