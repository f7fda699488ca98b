import { execFile } from "node:child_process";
import { statfs } from "node:fs/promises";
import { totalmem } from "node:os";
import { monitorEventLoopDelay } from "node:perf_hooks";

/** Bytes of a disk or of the memory. */
export interface FreeSpace {
  free: number;
  total: number;
}

/** What can be measured of the machine; null is not known. */
export interface HostMetrics {
  /** The disk that holds `path`, as far as this process may write to it. */
  disk(path: string): Promise<FreeSpace | null>;
  /** What this process may use, and has left. */
  memory(): FreeSpace;
  /** How late the event loop was in the worst 1 % of its turns since the last call, ms. */
  loopLagMs(): number;
  /** Whether the machine's clock follows a reference. */
  isClockSynchronised(): Promise<boolean | null>;
}

const LAG_RESOLUTION_MS = 10;
const TIMEDATECTL_TIMEOUT_MS = 5_000;

/** The machine that the process runs on. */
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

/** @source timedatectl(1), show. Machines without systemd know nothing of it. */
function readClockSynchronisation(): Promise<boolean | null> {
  return new Promise((resolve) => {
    const asked = ["show", "--property=NTPSynchronized", "--value"];
    execFile("timedatectl", asked, { timeout: TIMEDATECTL_TIMEOUT_MS }, (error, answer) => {
      const word = error ? "" : String(answer).trim();
      resolve(word === "yes" ? true : word === "no" ? false : null);
    });
  });
}
