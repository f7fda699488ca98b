import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import type { InternalTable, Store } from "../store/store.ts";

/** One row per run of the daemon: start and end (epoch ms), and how it ended. */
export const DAEMON_RUNS: InternalTable = {
  name: "daemon_runs",
  sql: `CREATE TABLE IF NOT EXISTS daemon_runs (
    pk INTEGER PRIMARY KEY, began INTEGER NOT NULL, ended INTEGER, ending TEXT, version TEXT NOT NULL) STRICT`,
};

/** One run. `ending` is `stopped`, or the cause of an unclean end: `watchdog`, `signal KILL`, `exit-code 74`, `unknown`. */
export interface DaemonRun {
  began: number;
  ended: number | null;
  ending: string | null;
  version: string;
}

/** Runs that are kept; EN 60849 5.4 requires 99. */
export const MAX_DAEMON_RUNS = 10_000;
/** An unclean end is reported by the health for this time. */
const REPORT_DURATION_MS = 3_600_000;
/** Written by the service's ExecStopPost: result, code and status of the end. @source systemd.exec(5) */
const LAST_EXIT_FILE = "last-end";

export interface DaemonRunDeps {
  store: Pick<Store, "write" | "all">;
  clock: Clock;
  dataDir: string;
  version: string;
}

/** Records each run and how the previous one ended. */
export interface DaemonRuns {
  /** Returns how the previous run ended uncleanly; null if it ended cleanly or there was none. */
  start(): Promise<string | null>;
  /** Records a clean end of this run. */
  stop(): Promise<void>;
  /** Newest first. */
  newest(limit: number): DaemonRun[];
  healthReasons(): { level: "yellow"; code: string; reason: Sentence }[];
}

/** Nothing is written before `start`. */
export function createDaemonRuns({ store, clock, dataDir, version }: DaemonRunDeps): DaemonRuns {
  let uncleanEnd: { at: number; reason: string } | null = null;
  let currentRun: number | null = null;
  return {
    async start() {
      const reason = readLastExit(dataDir);
      const now = clock.now();
      await store.write((tx) => {
        const open = tx.one<{ pk: number }>("SELECT pk FROM daemon_runs WHERE ended IS NULL ORDER BY pk DESC LIMIT 1");
        if (open) {
          tx.run("UPDATE daemon_runs SET ended = ?, ending = ? WHERE pk = ?", now, reason, open.pk);
          uncleanEnd = { at: now, reason };
        }
        currentRun = tx.run("INSERT INTO daemon_runs (began, version) VALUES (?, ?)", now, version).lastInsertRowid;
        tx.run("DELETE FROM daemon_runs WHERE pk <= ?", currentRun - MAX_DAEMON_RUNS);
      });
      return uncleanEnd ? reason : null;
    },
    async stop() {
      const pk = currentRun;
      if (pk === null) return;
      await store.write((tx) => {
        tx.run("UPDATE daemon_runs SET ended = ?, ending = 'stopped' WHERE pk = ?", clock.now(), pk);
      });
    },
    newest: (limit) =>
      store.all<DaemonRun & object>(
        "SELECT began, ended, ending, version FROM daemon_runs ORDER BY pk DESC LIMIT ?",
        limit,
      ),
    healthReasons() {
      if (!uncleanEnd || clock.now() - uncleanEnd.at > REPORT_DURATION_MS) return [];
      const at = new Date(uncleanEnd.at).toISOString().slice(11, 16);
      const reason = sentence("health.restarted", { time: at, reason: uncleanEnd.reason });
      return [{ level: "yellow", code: `cut-off:${uncleanEnd.at}`, reason }];
    },
  };
}

/** How the service ended last; `unknown` if that was not recorded. The file is deleted after reading. */
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
