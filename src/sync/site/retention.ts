import type { TransactionProgram } from "../storage/transaction-program.ts";
import { pruneCommands } from "./command-inbox.ts";
import { MAX_OUTBOX_BYTES, pruneAcked, recordAckedPosition } from "./outbox.ts";

/** Commands are remembered as long as the cloud may send them again. @source replication.md 3 */
const COMMAND_RETENTION_MS = 30 * 24 * 3600_000;

/**
 * Forgets what is not needed any more, a little at a time. How old a thing is, only the cloud's time says: a clock that
 * begins at 1970, or runs years ahead, must not make young things old. `cloudTime` is null until it was heard.
 */
export function* pruneSiteData(cloudTime: number | null): TransactionProgram<void> {
  for (const lane of ["bulk", "hot"] as const) yield* pruneAcked(lane, cloudTime, MAX_OUTBOX_BYTES);
  if (cloudTime === null) return;
  yield* recordAckedPosition(cloudTime);
  yield* pruneCommands(cloudTime - COMMAND_RETENTION_MS, 200);
}
