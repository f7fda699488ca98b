import { execFileSync } from "node:child_process";
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { runInit, serveAppliance } from "../support/carillon-process.ts";

/** What a full disk did. */
export interface DiskFullRun {
  /** Status and type of the answers to writes on the full disk, each once. */
  refused: string[];
  /** Reads that were answered meanwhile, of how many. */
  reads: number;
  readsAsked: number;
  /** Whether the alarm was ACTIVE before nothing could be written any more. */
  alarmed: boolean;
  /** From the space's return to the first write that was taken, ms. */
  recoveredMs: number;
  /** Answered creates that were gone in the end. */
  lost: number;
  /** Whether it was the same process all along. */
  survived: boolean;
}

const SIZE_MIB = 96;
const ROUNDS = 50;

/** Fills the disk under a running daemon (a file system of its own in memory; needs root), and makes room again. */
export async function fillDisk(say: (progress: string) => void): Promise<DiskFullRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-full-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${SIZE_MIB}m,mode=0700`, "carillon-full", folder]);
  try {
    return await onDisk(folder, say);
  } finally {
    execFileSync("umount", ["--lazy", folder]);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onDisk(folder: string, say: (progress: string) => void): Promise<DiskFullRun> {
  const dataDir = join(folder, "data");
  const { token } = await runInit(dataDir);
  const daemon = await serveAppliance(dataDir);
  const call = async (method: string, path: string, body?: object): Promise<{ status: number; body: Answer }> => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const answer = await fetch(`${daemon.url}/api/v1${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: (await answer.json()) as Answer };
  };
  const create = (name: string) => call("POST", "/users", { name, type: "anonymous" });
  const made: string[] = [];
  const result: DiskFullRun = {
    ...{ refused: [], reads: 0, readsAsked: 0, alarmed: false, recoveredMs: -1, lost: 0, survived: true },
  };
  try {
    made.push((await create("Before")).body.id as string);
    const ballast = join(folder, "ballast");
    fill(ballast, 0.98);
    result.alarmed = await within(60_000, async () => {
      const { body } = await call("GET", "/alarms?limit=100");
      return (body.data ?? []).some(({ type, status }) => type === "onprem_server_red" && status === "ACTIVE");
    });
    say(result.alarmed ? "the alarm is active" : "no alarm");
    fill(ballast, 1);
    for (let round = 0; round < ROUNDS; round++) {
      const { status, body } = await create(`Full ${round} ${"x".repeat(100)}`);
      if (status === 200) made.push(body.id as string);
      else if (!result.refused.includes(`${status} ${body.type}`)) result.refused.push(`${status} ${body.type}`);
      result.readsAsked += 1;
      if ((await call("GET", "/users?limit=10")).status === 200) result.reads += 1;
      // What was freed by the daemon itself is taken again.
      fill(ballast, 1);
    }
    say(`writes were refused: ${result.refused.join(", ") || "never"}`);
    rmSync(ballast);
    const began = performance.now();
    await within(30_000, async () => {
      const { status, body } = await create("After");
      if (status === 200) made.push(body.id as string);
      return status === 200;
    });
    result.recoveredMs = Math.round(performance.now() - began);
    for (const id of made) if ((await call("GET", `/users/${id}`)).status !== 200) result.lost += 1;
    result.survived = daemon.child.exitCode === null;
    return result;
  } finally {
    await daemon.end("SIGTERM");
  }
}

interface Answer {
  id?: string;
  type?: string;
  data?: { type: string; status: string }[];
}

/** Grows a file until so much of the disk is used: 1 is until nothing more fits. */
function fill(path: string, share: number): void {
  const piece = Buffer.alloc(share === 1 ? 4_096 : 1_048_576, 1);
  writeFileSync(path, "", { flag: "a" });
  try {
    while (share === 1 || usedShare(path) < share) appendFileSync(path, piece);
  } catch (error) {
    if ((error as { code?: string }).code !== "ENOSPC") throw error;
  }
}

function usedShare(path: string): number {
  const [, line = ""] = execFileSync("df", ["--output=used,size", path], { encoding: "utf8" }).trim().split("\n");
  const [used = 0, size = 1] = line.trim().split(/\s+/).map(Number);
  return used / size;
}

async function within(maxMs: number, isSo: () => Promise<boolean>): Promise<boolean> {
  for (const until = performance.now() + maxMs; performance.now() < until; await pause(100))
    if (await isSo()) return true;
  return false;
}
