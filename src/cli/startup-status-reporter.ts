import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Terminal } from "../lib/terminal.ts";
import { createSystemdNotifier, type NotifySystemd } from "../ops/systemd-notifier.ts";
import { notifyReadyAndWatchdog, type SupervisorOptions } from "../ops/systemd-watchdog.ts";
import { describeProgress, type NodeStatus, progressLine } from "../wiring/cloud-node/node-status.ts";

export interface StartupStatusReporterDeps {
  terminal: Pick<Terminal, "out" | "env">;
  clock: Clock;
  log: Log;
  /** Default: `createSystemdNotifier`. */
  notify?: NotifySystemd | null;
  /** Default: the watchdog thread. */
  startFeed?: SupervisorOptions["startFeed"];
}

/** Reports what a cloud node does before it becomes active: on stdout, in the log and to systemd. */
export interface StartupStatusReporter {
  report(doing: NodeStatus): void;
  /** The daemon reports for itself from now on, or the node has stopped. */
  stop(): void;
}

/** Work that ends sooner is not reported; longer work is reported at this interval. */
const FIRST_REPORT_MS = 500;
const REPORT_INTERVAL_MS = 5_000;
/** Start timeout after each sign of progress; initial replication reports between two pages. */
const START_EXTENSION_USEC = 120_000_000;

/**
 * Sends READY once the node is a standby, or leaves that to the daemon. A long start extends its timeout as long as it makes
 * progress, so that a hanging one is still ended. @source sd_notify(3): EXTEND_TIMEOUT_USEC
 */
export function createStartupStatusReporter(deps: StartupStatusReporterDeps): StartupStatusReporter {
  const { terminal, clock, log, startFeed } = deps;
  const { env } = terminal;
  const notify = deps.notify === undefined ? createSystemdNotifier(env, log) : deps.notify;
  let watchdog: Timer | null = null;
  let dueAt: number | null = null;

  function status(text: string): void {
    // After READY the start timeout no longer applies.
    notify?.(...(watchdog ? [] : [`EXTEND_TIMEOUT_USEC=${START_EXTENSION_USEC}`]), `STATUS=${text}`);
  }

  return {
    report(progress) {
      if (progress.doing === "stands-by") {
        terminal.out(JSON.stringify({ event: "standby", pid: process.pid }));
        // The node may stay standby for months.
        watchdog?.cancel();
        watchdog = notifyReadyAndWatchdog({ env, clock, log, notify, startFeed }, "Standby.");
        dueAt = null;
        return;
      }
      if (!("done" in progress)) return status("Becoming active.");
      const now = clock.monotonicMs();
      dueAt ??= now + FIRST_REPORT_MS;
      if (now < dueAt) return;
      dueAt = now + REPORT_INTERVAL_MS;
      terminal.out(progressLine(progress, process.pid));
      log.info({ event: "node.starting", done: progress.done, of: progress.of }, describeProgress(progress));
      status(describeProgress(progress));
    },
    stop() {
      watchdog?.cancel();
    },
  };
}
