import { existsSync } from "node:fs";
import { join } from "node:path";
import type { connectToGateway } from "../gateway/backend-protocol.ts";
import { systemClock } from "../lib/clock.ts";
import { EXIT } from "../lib/exit-codes.ts";
import { limitHeapGrowth } from "../lib/heap-growth.ts";
import { createLog, stderrStream } from "../lib/log.ts";
import type { Terminal } from "../lib/terminal.ts";
import { openRotatingLog, type RotatingLog } from "../ops/logs/log-files.ts";
import { formatLogLine } from "../ops/logs/log-reader.ts";
import type { SettingsFile } from "../ops/settings-report.ts";
import type { Settings } from "../settings/schema.ts";
import type { CloudNode, CloudNodeOptions } from "../wiring/cloud-node/cloud-node.ts";
import { startDaemon } from "../wiring/daemon.ts";
import { prepareFirstRun } from "../wiring/first-run.ts";
import { readSetupCode } from "../wiring/setup-code.ts";
import { createStartupStatusReporter } from "./startup-status-reporter.ts";

/** The database that the nodes of a cloud share. */
export interface SharedDatabase {
  url: string;
  organisation: string;
  isRestored: boolean;
}

type StopReason = "signal" | "disk" | "restart";

const EXIT_CODE_BY_REASON = { signal: EXIT.ok, disk: EXIT.disk, restart: EXIT.restart } as const;

/** Runs the daemon and returns the exit code. A signal during the start ends it at once: committed data are safe. */
export async function runDaemon(
  dataDir: string,
  settings: Settings,
  settingsFile: SettingsFile | null,
  terminal: Terminal,
  isHub: boolean,
  shared: SharedDatabase | null,
  clientAddressAt: ReturnType<typeof connectToGateway> | undefined,
): Promise<number> {
  limitHeapGrowth();
  const lines = createLogOutput(
    () => files,
    terminal.errIsTerminal ? (line) => `${formatLogLine(line)}\n` : (line) => line,
  );
  process.once("exit", lines.flush);
  let files: RotatingLog | null = null;
  const log = createLog({ level: settings.log.level, stream: lines });
  let stopWith: (why: StopReason) => void = () => undefined;
  const stopReason = new Promise<StopReason>((resolve) => {
    stopWith = resolve;
  });
  let isSignalled = false;
  const endListening = terminal.onStop((signal) => {
    log.info({ event: "daemon.stopping", signal }, "stopping");
    // It may be stopping already, to start again.
    isSignalled = true;
    stopWith("signal");
  });
  const onFatal = (error: unknown): void => {
    log.fatal({ event: "daemon.disk_failed", err: error }, "disk write failed; exiting, a restart is safe");
    stopWith("disk");
  };
  const stopped = new AbortController();
  void stopReason.then((why) => stopped.abort(why));
  let node: CloudNode | null = null;
  const statusReporter = createStartupStatusReporter({ terminal, clock: systemClock, log });
  try {
    if (shared) {
      const { signal } = stopped;
      node = await waitForLeadership({
        ...shared,
        dataDir,
        clock: systemClock,
        log,
        signal,
        onStatus: statusReporter.report,
      });
      if (node === null) return EXIT_CODE_BY_REASON[await stopReason];
      void node.leadershipLost().then(() => {
        log.warn({ event: "node.leadership_lost" }, "another node is primary; entering standby");
        stopWith("restart");
      });
    } else await prepareFirstRun(dataDir, systemClock);
    // A folder that is no appliance, such as a mistyped path, gets no log files.
    if (existsSync(join(dataDir, "carillon.db"))) files = openRotatingLog(dataDir);
    const daemon = await Promise.race([
      stopReason,
      startDaemon({
        ...{ dataDir, listen: settings.listen, settings, log, isHub, onFatal },
        onRestart: () => stopWith("restart"),
        guardsLoop: true,
        ...(node && { shared: node.sharedLog, source: node.healthSource }),
        ...(clientAddressAt && { callerAt: clientAddressAt }),
        ...(settingsFile && { settingsFile }),
      }),
    ]);
    statusReporter.stop();
    if (typeof daemon === "string") return EXIT_CODE_BY_REASON[daemon === "restart" && isSignalled ? "signal" : daemon];
    const { url, urls } = daemon;
    terminal.out(JSON.stringify({ event: "ready", url, pid: process.pid, urls }));
    if (readSetupCode(dataDir) !== null)
      log.warn(
        { event: "setup.waiting", url, file: join(dataDir, "setup-code") },
        "new appliance: set it up in the browser with the code in this file",
      );
    printSetupCode(terminal, dataDir, url);
    const why = await stopReason;
    if (why !== "disk") await daemon.stop();
    return EXIT_CODE_BY_REASON[why === "restart" && isSignalled ? "signal" : why];
  } finally {
    statusReporter.stop();
    endListening();
    await node?.stop();
    lines.flush();
    process.off("exit", lines.flush);
    files?.close();
  }
}

/** Waits until this node is the leader; null when it was stopped before. */
async function waitForLeadership(options: CloudNodeOptions): Promise<CloudNode | null> {
  // Loads the PostgreSQL driver only if it is needed.
  const { joinCluster } = await import("../wiring/cloud-node/cloud-node.ts");
  try {
    return await joinCluster(options);
  } catch (error) {
    if (options.signal.aborted) return null;
    throw error;
  }
}

/**
 * Writes lines to stderr (journal or terminal) and to the files that `carillon logs` reads. All lines of one turn of the
 * event loop are written at once, since thousands of requests may come together. `shown` formats lines for stderr.
 */
function createLogOutput(
  files: () => RotatingLog | null,
  shown: (line: string) => string,
): { write(line: string): void; flush(): void } {
  const stderr = stderrStream();
  let pending = "";
  let pendingShown = "";
  const flush = (): void => {
    if (pending === "") return;
    stderr.write(pendingShown);
    files()?.write(pending);
    pending = "";
    pendingShown = "";
  };
  return {
    write(line) {
      if (pending === "") systemClock.defer(flush);
      pending += line;
      pendingShown += shown(line);
    },
    flush,
  };
}

/** Prints the setup code on a terminal only: other output may be stored as a log. */
export function printSetupCode(terminal: Pick<Terminal, "err" | "errIsTerminal">, dataDir: string, url: string): void {
  const code = terminal.errIsTerminal ? readSetupCode(dataDir) : null;
  if (code !== null) terminal.err(`\nThis appliance is new. Open ${url} and enter the setup code ${code}\n`);
}
