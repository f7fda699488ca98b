import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import type { RoomTable, Store } from "../store/store.ts";

/** Each run of the daemon: when it began and ended (epoch ms), and how. */
export const OPERATION_RUNS: RoomTable = {
  name: "operation_runs",
  sql: `CREATE TABLE IF NOT EXISTS operation_runs (
    pk INTEGER PRIMARY KEY, began INTEGER NOT NULL, ended INTEGER, ending TEXT, version TEXT NOT NULL) STRICT`,
};

/** One run. `ending` is `stopped`, or how it was cut off: `watchdog`, `signal KILL`, `exit-code 74`, `unknown`. */
export interface Run {
  began: number;
  ended: number | null;
  ending: string | null;
  version: string;
}

/** Runs that are remembered. own choice: EN 60849 5.4 asks for 99 */
export const MOST_RUNS_KEPT = 10_000;
/** That the appliance was cut off is told for so long. own choice */
const TOLD_MS = 3_600_000;
/** What the service's ExecStopPost leaves: result, code and status of the end. @source systemd.exec(5) */
const LAST_END = "last-end";

/** What runs are written down with. */
export interface RunNeeds {
  store: Pick<Store, "write" | "all">;
  clock: Clock;
  dataDir: string;
  version: string;
}

/** Writes down each run and how the one before ended. */
export interface Runs {
  /** Answers how the run before was cut off, null when it ended well or there was none. */
  start(): Promise<string | null>;
  /** This run ends as it should. */
  stop(): Promise<void>;
  /** The newest first. */
  last(most: number): Run[];
  source(): { level: "yellow"; code: string; reason: string }[];
}

/** Makes them; nothing is written before `start`. */
export function createRuns({ store, clock, dataDir, version }: RunNeeds): Runs {
  let cutOff: { at: number; how: string } | null = null;
  let own: number | null = null;
  return {
    async start() {
      const how = lastEnd(dataDir);
      const now = clock.now();
      await store.write((tx) => {
        const open = tx.one<{ pk: number }>(
          "SELECT pk FROM operation_runs WHERE ended IS NULL ORDER BY pk DESC LIMIT 1",
        );
        if (open) {
          tx.run("UPDATE operation_runs SET ended = ?, ending = ? WHERE pk = ?", now, how, open.pk);
          cutOff = { at: now, how };
        }
        own = tx.run("INSERT INTO operation_runs (began, version) VALUES (?, ?)", now, version).lastInsertRowid;
        tx.run("DELETE FROM operation_runs WHERE pk <= ?", own - MOST_RUNS_KEPT);
      });
      return cutOff ? how : null;
    },
    async stop() {
      const pk = own;
      if (pk === null) return;
      await store.write((tx) => {
        tx.run("UPDATE operation_runs SET ended = ?, ending = 'stopped' WHERE pk = ?", clock.now(), pk);
      });
    },
    last: (most) =>
      store.all<Run & object>(
        "SELECT began, ended, ending, version FROM operation_runs ORDER BY pk DESC LIMIT ?",
        most,
      ),
    source() {
      if (!cutOff || clock.now() - cutOff.at > TOLD_MS) return [];
      const at = new Date(cutOff.at).toISOString().slice(11, 16);
      const reason = `Carillon was cut off and started again at ${at} UTC (${cutOff.how}).`;
      return [{ level: "yellow", code: `cut-off:${cutOff.at}`, reason }];
    },
  };
}

/** How the service ended last, `unknown` where nobody wrote it down. Read once. */
function lastEnd(dataDir: string): string {
  const path = join(dataDir, LAST_END);
  try {
    const [result = "", code = "", status = ""] = readFileSync(path, "utf8").trim().split(" ");
    rmSync(path);
    if (result === "watchdog") return "watchdog";
    return result === "success" || result === "" ? "unknown" : `${code === "exited" ? "exit-code" : result} ${status}`;
  } catch {
    return "unknown";
  }
}
