import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInit, serveAppliance } from "../../support/carillon-process.ts";
import { atLeast, type BenchmarkFigure, type BenchmarkRow, median } from "../benchmark-row.ts";
import { measurePosts } from "../http-load.ts";
import { startRawServer } from "../raw-server.ts";

const ROUNDS = 5;
const BURST_MS = 1_500;
const CLIENTS = 32;

interface Target {
  url: string;
  headers: Record<string, string>;
  stop(): Promise<unknown>;
}

/** Row 4: creates over HTTP that are on the disk when they are answered. */
export const durableCreate: BenchmarkRow = {
  number: 4,
  name: "durable create with change and audit rows",
  async measure(say) {
    const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
    const ours = await startOurs(join(folder, "data"));
    const server = await startRawServer("raw-create-server", join(folder, "raw.db"));
    const raw = { ...server, headers: {} };
    const figures: Measured = { ours: [], raw: [], single: [], rawSingle: [], syncs: [] };
    try {
      for (let round = 0; round < ROUNDS; round++) {
        figures.raw.push(await rate(raw, CLIENTS, `raw ${round}`));
        figures.ours.push(await rate(ours, CLIENTS, `many ${round}`));
        figures.syncs.push(syncRate(join(folder, "sync")));
        figures.single.push(await rate(ours, 1, `one ${round}`));
        figures.rawSingle.push(await rate(raw, 1, `raw one ${round}`));
        say(`round ${round + 1} of ${ROUNDS}`);
      }
      return figuresOf(figures);
    } finally {
      await Promise.all([ours.stop(), raw.stop()]);
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Creates a second, round by round; `syncs` are writes of a block with fdatasync. */
type Measured = Record<"ours" | "raw" | "single" | "rawSingle" | "syncs", number[]>;

function figuresOf(measured: Measured): BenchmarkFigure[] {
  const unit = "a second";
  const [ours, raw] = [median(measured.ours), median(measured.raw)];
  const [single, rawSingle, syncs] = [median(measured.single), median(measured.rawSingle), median(measured.syncs)];
  return [
    atLeast({ what: "32 clients", ours, limit: raw, against: "node:http, group commit, same rows", unit }, 0.5),
    atLeast({ what: "32 clients", ours, limit: single, against: "our own, one client: no grouping", unit }, 3),
    atLeast({ what: "1 client", ours: single, limit: syncs, against: "fdatasync of 4 KiB", unit }, 0.6),
    // What a request and a commit can reach at all, one after the other: several pages to sync, and HTTP both ways.
    atLeast({ what: "1 client", ours: single, limit: rawSingle, against: "node:http, same rows, 1 client", unit }, 0.6),
  ];
}

async function rate({ url, headers }: Target, clients: number, prefix: string): Promise<number> {
  const body = (n: number): unknown => ({
    name: `${prefix} ${n}`,
    email: `${prefix}-${n}@example.org`.replace(" ", "-"),
  });
  return (await measurePosts(url, headers, clients, BURST_MS, body)).perSecond;
}

async function startOurs(dataDir: string): Promise<Target> {
  const { token } = await runInit(dataDir);
  const daemon = await serveAppliance(dataDir);
  const headers = { authorization: `Bearer ${token}` };
  return { url: `${daemon.url}/api/v1/users`, headers, stop: () => daemon.end("SIGTERM") };
}

function syncRate(path: string): number {
  const file = openSync(path, "w");
  const block = Buffer.alloc(4_096, 1);
  const began = performance.now();
  let count = 0;
  for (; performance.now() - began < BURST_MS / 2; count++) {
    writeSync(file, block);
    fdatasyncSync(file);
  }
  closeSync(file);
  return (count * 1_000) / (performance.now() - began);
}
