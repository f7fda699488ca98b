import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import type { InternalTable, Store } from "../store/store.ts";

/** Each run of the daemon: when it began and ended (epoch ms), and how. */
export const DAEMON_RUNS: InternalTable = {
  name: "daemon_runs",
  sql: `CREATE TABLE IF NOT EXISTS daemon_runs (
    pk INTEGER PRIMARY KEY, began INTEGER NOT NULL, ended INTEGER, ending TEXT, version TEXT NOT NULL) STRICT`,
};

/** One run. `ending` is `stopped`, or how it was cut off: `watchdog`, `signal KILL`, `exit-code 74`, `unknown`. */
export interface DaemonRun {
  began: number;
  ended: number | null;
  ending: string | null;
  version: string;
}

/** Runs that are remembered. own choice: EN 60849 5.4 asks for 99 */
export const MAX_DAEMON_RUNS = 10_000;
/** That the appliance was cut off is told for so long. own choice */
const REPORT_DURATION_MS = 3_600_000;
/** What the service's ExecStopPost leaves: result, code and status of the end. @source systemd.exec(5) */
const LAST_EXIT_FILE = "last-end";

/** What runs are written down with. */
export interface DaemonRunDeps {
  store: Pick<Store, "write" | "all">;
  clock: Clock;
  dataDir: string;
  version: string;
}

/** Writes down each run and how the one before ended. */
export interface DaemonRuns {
  /** Answers how the run before was cut off, null when it ended well or there was none. */
  start(): Promise<string | null>;
  /** This run ends as it should. */
  stop(): Promise<void>;
  /** The newest first. */
  newest(most: number): DaemonRun[];
  healthReasons(): { level: "yellow"; code: string; reason: string }[];
}

/** Makes them; nothing is written before `start`. */
export function createDaemonRuns({ store, clock, dataDir, version }: DaemonRunDeps): DaemonRuns {
  let cutOff: { at: number; how: string } | null = null;
  let currentRun: number | null = null;
  return {
    async start() {
      const how = readLastExit(dataDir);
      const now = clock.now();
      await store.write((tx) => {
        const open = tx.one<{ pk: number }>("SELECT pk FROM daemon_runs WHERE ended IS NULL ORDER BY pk DESC LIMIT 1");
        if (open) {
          tx.run("UPDATE daemon_runs SET ended = ?, ending = ? WHERE pk = ?", now, how, open.pk);
          cutOff = { at: now, how };
        }
        currentRun = tx.run("INSERT INTO daemon_runs (began, version) VALUES (?, ?)", now, version).lastInsertRowid;
        tx.run("DELETE FROM daemon_runs WHERE pk <= ?", currentRun - MAX_DAEMON_RUNS);
      });
      return cutOff ? how : null;
    },
    async stop() {
      const pk = currentRun;
      if (pk === null) return;
      await store.write((tx) => {
        tx.run("UPDATE daemon_runs SET ended = ?, ending = 'stopped' WHERE pk = ?", clock.now(), pk);
      });
    },
    newest: (most) =>
      store.all<DaemonRun & object>(
        "SELECT began, ended, ending, version FROM daemon_runs ORDER BY pk DESC LIMIT ?",
        most,
      ),
    healthReasons() {
      if (!cutOff || clock.now() - cutOff.at > REPORT_DURATION_MS) return [];
      const at = new Date(cutOff.at).toISOString().slice(11, 16);
      const reason = `Carillon was cut off and started again at ${at} UTC (${cutOff.how}).`;
      return [{ level: "yellow", code: `cut-off:${cutOff.at}`, reason }];
    },
  };
}

/** How the service ended last, `unknown` where nobody wrote it down. Read once. */
function readLastExit(dataDir: string): string {
  const path = join(dataDir, LAST_EXIT_FILE);
  try {
    const [result = "", code = "", status = ""] = readFileSync(path, "utf8").trim().split(" ");
    rmSync(path);
    if (result === "watchdog") return "watchdog";
    return result === "success" || result === "" ? "unknown" : `${code === "exited" ? "exit-code" : result} ${status}`;
  } catch {
    return "unknown";
  }
}
