import type { TransactionProgram } from "../storage/transaction-program.ts";
import { pruneCommands } from "./command-inbox.ts";
import { MAX_OUTBOX_BYTES, pruneAcked, recordAckedPosition } from "./outbox.ts";

/** The cloud may send a command again for this long. @source docs/decisions/0040-replication.md, Section 3 */
const COMMAND_RETENTION_MS = 30 * 24 * 3600_000;

/**
 * Prunes old data in small steps. Age is judged by cloud time only (null until it was observed): a wall clock that starts at
 * 1970 or runs years ahead must not expire anything.
 */
export function* pruneSiteData(cloudTime: number | null): TransactionProgram<void> {
  for (const lane of ["bulk", "hot"] as const) yield* pruneAcked(lane, cloudTime, MAX_OUTBOX_BYTES);
  if (cloudTime === null) return;
  yield* recordAckedPosition(cloudTime);
  yield* pruneCommands(cloudTime - COMMAND_RETENTION_MS, 200);
}
