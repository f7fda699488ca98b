import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { createSystemdNotifier, type NotifySystemd, notifyReadyAndWatchdog } from "../ops/systemd-watchdog.ts";
import { describeProgress, type NodeStatus, progressLine } from "../wiring/cloud-node/node-status.ts";
import type { Terminal } from "./terminal.ts";

/** What it tells, and how. */
export interface StartupStatusReporterDeps {
  terminal: Pick<Terminal, "out" | "env">;
  clock: Clock;
  log: Log;
  /** By `systemdTell` unless given. */
  notify?: NotifySystemd | null;
}

/** Tells whoever started a node of a cloud, and whoever reads its log, what it does before it acts. */
export interface StartupStatusReporter {
  report(doing: NodeStatus): void;
  /** The daemon speaks for itself, or nothing runs any more. */
  stop(): void;
}

/** What is done sooner is not told, and what takes longer so often. own choice */
const FIRST_REPORT_MS = 500;
const REPORT_INTERVAL_MS = 5_000;
/** How long the service manager leaves a start that gets on: whoever brings rows is heard between two pages. own choice */
const START_EXTENSION_USEC = 120_000_000;

/**
 * Makes it. Ready is told once the node stands by, or by the daemon; a longer start asks for more time as long as it gets on,
 * so that one that hangs is still ended. @source sd_notify(3): EXTEND_TIMEOUT_USEC
 */
export function createStartupStatusReporter(needs: StartupStatusReporterDeps): StartupStatusReporter {
  const { terminal, clock, log } = needs;
  const { env } = terminal;
  const notify = needs.notify === undefined ? createSystemdNotifier(env, log) : needs.notify;
  let standing: Timer | null = null;
  let dueAt: number | null = null;

  function status(words: string): void {
    // Of one that has been ready there is no start to be patient with.
    notify?.(...(standing ? [] : [`EXTEND_TIMEOUT_USEC=${START_EXTENSION_USEC}`]), `STATUS=${words}`);
  }

  return {
    report(doing) {
      if (doing.doing === "stands-by") {
        terminal.out(JSON.stringify({ event: "standby", pid: process.pid }));
        // Its turn may come in months.
        standing?.cancel();
        standing = notifyReadyAndWatchdog({ env, clock, log, notify }, "Stands by.");
        dueAt = null;
        return;
      }
      if (!("done" in doing)) return status("Begins to act.");
      const now = clock.monotonicMs();
      dueAt ??= now + FIRST_REPORT_MS;
      if (now < dueAt) return;
      dueAt = now + REPORT_INTERVAL_MS;
      terminal.out(progressLine(doing, process.pid));
      log.info({ done: doing.done, of: doing.of }, describeProgress(doing));
      status(describeProgress(doing));
    },
    stop() {
      standing?.cancel();
    },
  };
}
