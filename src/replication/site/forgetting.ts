import type { Work } from "../work.ts";
import { forgetCommands } from "./inbox.ts";
import { forgetArrived, MOST_OUT_BYTES, noteDay } from "./outbox.ts";

/** Commands are remembered as long as the cloud may send them again. @source replication.md 3 */
const COMMANDS_KEPT_MS = 30 * 24 * 3600_000;

/**
 * Forgets what is not needed any more, a little at a time. How old a thing is, only the cloud's time says: a clock that
 * begins at 1970, or runs years ahead, must not make young things old. `cloudTime` is null until it was heard.
 */
export function* forgetOld(cloudTime: number | null): Work<void> {
  for (const lane of ["bulk", "hot"] as const) yield* forgetArrived(lane, cloudTime, MOST_OUT_BYTES);
  if (cloudTime === null) return;
  yield* noteDay(cloudTime);
  yield* forgetCommands(cloudTime - COMMANDS_KEPT_MS, 200);
}
