import { isAbsolute } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { within } from "../lib/waits.ts";
import type { BackupReport } from "../ops/backup/backup-archive.ts";
import type { BackupScheduler } from "../ops/backup/backup-scheduler.ts";
import type { ControlCommand } from "./control-commands.ts";

/** Shorter than the response timeout of a control command. */
const WAIT_TIMEOUT_MS = 15_000;

/** Progress of a backup: still running, or its report. */
type Progress = { finished: false } | { finished: true; report: BackupReport };

/**
 * `backup.take` `{to?, scheduled?, forUpgrade?}` starts a backup, `backup.wait` `{}` waits for it. In the daemon both return Progress
 * after at most WAIT_TIMEOUT_MS, even if the backup still runs; without `clock` they wait until it is done.
 */
export function createBackupCommands(
  { take, takeForUpgrade }: Pick<BackupScheduler, "take"> & Partial<Pick<BackupScheduler, "takeForUpgrade">>,
  clock?: Clock,
): Readonly<Record<string, ControlCommand>> {
  let running: Promise<BackupReport> | null = null;
  const wait = async (): Promise<Progress> => {
    if (!running) throw new CallerError("not-found", "No backup is running.");
    try {
      const result = clock ? await within(clock, running, { timeoutMs: WAIT_TIMEOUT_MS }) : { value: await running };
      if (result === null) return { finished: false };
      running = null;
      return { finished: true, report: result.value };
    } catch (error) {
      running = null;
      const reason = error instanceof Error ? error.message : String(error);
      // The command's user must see the reason; the daemon itself is fine.
      throw new CallerError("upstream", sentence("backup.failed", { reason }));
    }
  };
  return {
    "backup.take": async ({ to, scheduled, forUpgrade }) => {
      if (to !== undefined && (typeof to !== "string" || !isAbsolute(to)))
        throw invalidValue("to", sentence("field.must-be-an-absolute-path"));
      if (await running) throw new ConflictError("A backup is already running.");
      running = forUpgrade === true && takeForUpgrade ? takeForUpgrade() : take(to, scheduled === true);
      return wait();
    },
    "backup.wait": wait,
  };
}
