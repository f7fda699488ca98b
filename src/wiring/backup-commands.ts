import { isAbsolute } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError, invalidValue } from "../lib/errors.ts";
import type { BackupReport } from "../ops/backup/backup-archive.ts";
import type { ControlCommand } from "./control-commands.ts";

/** Shorter than the time for which a command waits for an answer. */
const WAIT_TIMEOUT_MS = 15_000;

/** What becomes of a backup: not known yet, or its report. */
type Progress = { finished: false } | { finished: true; report: BackupReport };

/**
 * `backup.take` `{to?}` begins one and `backup.wait` `{}` goes on waiting for it; both answer Progress, in the daemon
 * after a while also when it is not done. Without `clock` they wait until it is.
 */
export function createBackupCommands(
  take: (to?: string) => Promise<BackupReport>,
  clock?: Clock,
): Readonly<Record<string, ControlCommand>> {
  let running: Promise<BackupReport> | null = null;
  const wait = async (): Promise<Progress> => {
    if (!running) throw new CallerError("not-found", "No backup is being taken.");
    const late = new Promise<null>(
      (resolve) => void clock?.after(WAIT_TIMEOUT_MS, () => resolve(null), { background: true }),
    );
    try {
      const report = await Promise.race([running, late]);
      if (report === null) return { finished: false };
      running = null;
      return { finished: true, report };
    } catch (error) {
      running = null;
      const reason = error instanceof Error ? error.message : String(error);
      // Whoever ordered it must read why; nothing of the daemon broke.
      throw new CallerError("upstream", `The backup failed: ${reason}`);
    }
  };
  return {
    "backup.take": async ({ to }) => {
      if (to !== undefined && (typeof to !== "string" || !isAbsolute(to))) throw invalidValue("to", "It is absolute.");
      if (await running) throw new ConflictError("A backup is being taken already.");
      running = take(to);
      return wait();
    },
    "backup.wait": wait,
  };
}
