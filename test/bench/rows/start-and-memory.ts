import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { type InitOutput, REPOSITORY_ROOT, runInit, serveAppliance } from "../../support/carillon-process.ts";
import { atMost, type BenchmarkFigure, type BenchmarkRow, median } from "../benchmark-row.ts";

const ROUNDS = 7;
const USERS = 5_000;
const IDLE_MS = 3_000;
const MIB = 2 ** 20;

/** Row 13: from the start of the process to `ready`, and what it takes of memory when nothing happens. */
export const startAndMemory: BenchmarkRow = {
  number: 13,
  name: "start to ready, idle memory",
  async measure(say) {
    const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
    const dataDir = join(folder, "data");
    const measured = { ours: [] as number[], bare: [] as number[], oursMiB: [] as number[], bareMiB: [] as number[] };
    try {
      await fill(dataDir, await runInit(dataDir));
      for (let round = 0; round < ROUNDS; round++) {
        const bare = await startBare(join(folder, "bare.db"));
        measured.bare.push(bare.ms);
        measured.bareMiB.push(bare.mib);
        const ours = await startOurs(dataDir);
        measured.ours.push(ours.ms);
        measured.oursMiB.push(ours.mib);
        say(`round ${round + 1} of ${ROUNDS}`);
      }
      return figuresOf(measured);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

function figuresOf(measured: Record<"ours" | "bare" | "oursMiB" | "bareMiB", number[]>): BenchmarkFigure[] {
  const [ours, bare] = [median(measured.ours), median(measured.bare)];
  const [oursMiB, bareMiB] = [median(measured.oursMiB), median(measured.bareMiB)];
  const memory = { what: "idle memory (RSS), two plugins", ours: oursMiB, unit: "MiB" };
  return [
    atMost(
      { what: `start to ready, ${USERS} users`, ours, limit: bare, against: "bare koa and SQLite", unit: "ms" },
      2.5,
    ),
    atMost({ ...memory, limit: 150, against: `fixed; bare koa ${Math.round(bareMiB)} MiB` }, 1),
  ];
}

interface Start {
  ms: number;
  mib: number;
}

async function startOurs(dataDir: string): Promise<Start> {
  const began = performance.now();
  const daemon = await serveAppliance(dataDir);
  const ms = performance.now() - began;
  await pause(IDLE_MS);
  const mib = residentMiB(daemon.child.pid as number);
  await daemon.end("SIGTERM");
  return { ms, mib };
}

async function startBare(file: string): Promise<Start> {
  const began = performance.now();
  const program = resolve(REPOSITORY_ROOT, "dist/test/bench/bare-koa-server.js");
  const child = spawn(process.execPath, [program, file], { stdio: ["ignore", "pipe", "inherit"] });
  await once(createInterface({ input: child.stdout }), "line");
  const ms = performance.now() - began;
  await pause(IDLE_MS);
  const mib = residentMiB(child.pid as number);
  const closed = once(child, "close");
  child.kill("SIGTERM");
  await closed;
  return { ms, mib };
}

/** Resident memory of a process. @source proc(5) */
function residentMiB(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return (Number(line?.[1]) * 1_024) / MIB;
}

async function fill(dataDir: string, { token }: InitOutput): Promise<void> {
  const daemon = await serveAppliance(dataDir);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  for (let at = 0; at < USERS; at += 50) {
    const some = Array.from({ length: 50 }, (_, n) => {
      const body = JSON.stringify({ name: `User ${at + n}`, email: `user-${at + n}@example.org` });
      return fetch(`${daemon.url}/api/v1/users`, { method: "POST", headers, body });
    });
    for (const response of await Promise.all(some)) {
      if (response.status !== 200) throw new Error(await response.text());
      await response.arrayBuffer();
    }
  }
  await daemon.end("SIGTERM");
}
