import { execFile } from "node:child_process";
import { statfs } from "node:fs/promises";
import { totalmem } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Free and total bytes of disk or memory. */
export interface FreeSpace {
  free: number;
  total: number;
}

/** Metrics of the host; null: unknown. */
export interface HostMetrics {
  /** Disk that contains `path`; `free`: as far as this process may use it. */
  disk(path: string): Promise<FreeSpace | null>;
  /** Memory that this process may use. */
  memory(): FreeSpace;
  /** Event loop lag since the last call, p99, ms. */
  loopLagMs(): number;
  /** Whether the system clock is synchronized (NTP). */
  isClockSynchronised(): Promise<boolean | null>;
}

const LAG_RESOLUTION_MS = 10;
const TIMEDATECTL_TIMEOUT_MS = 5_000;

export function createHostMetrics(): HostMetrics {
  const delay = monitorEventLoopDelay({ resolution: LAG_RESOLUTION_MS });
  delay.enable();
  return {
    async disk(path) {
      try {
        const { bavail, blocks, bsize } = await statfs(path);
        return { free: bavail * bsize, total: blocks * bsize };
      } catch {
        return null;
      }
    },
    memory() {
      const limit = process.constrainedMemory();
      const total = limit > 0 && limit < totalmem() ? limit : totalmem();
      return { free: process.availableMemory(), total };
    },
    loopLagMs() {
      const lag = Math.max(0, delay.percentile(99) / 1e6 - LAG_RESOLUTION_MS);
      delay.reset();
      return Number.isFinite(lag) ? lag : 0;
    },
    isClockSynchronised: () => readClockSynchronisation(),
  };
}

/** @source timedatectl(1), show. Unknown on machines without systemd. */
function readClockSynchronisation(): Promise<boolean | null> {
  return new Promise((resolve) => {
    const args = ["show", "--property=NTPSynchronized", "--value"];
    execFile("timedatectl", args, { timeout: TIMEDATECTL_TIMEOUT_MS }, (error, stdout) => {
      const value = error ? "" : String(stdout).trim();
      resolve(value === "yes" ? true : value === "no" ? false : null);
    });
  });
}
