import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { initialise, ROOT, type RunningDaemon, serve } from "../support/product.ts";
import { type Answered, type Cuts, cutPower, deedsIn, filesIn } from "./power-cuts.ts";

/** What a bad disk did. */
export interface DiskRun {
  /** Creates that were answered before the power was cut. */
  answered: number;
  power: Cuts;
  /** The same where the disk is asked less often, by way of control: rows must be lost there. */
  control: Cuts;
  /** Status of the first create that the disk failed, and creates that were answered 200 after it. */
  failedStatus: number;
  takenAfterwards: number;
  /** From the failure to the daemon's end, ms, and its exit code. */
  endedMs: number;
  exitCode: number | null;
  /** Answered creates that were gone after the next start. */
  lost: number;
}

const CREATES = 400;
const CLIENTS = 4;

/** Breaks the disk under a daemon: replays its writes as `cuts` cuts of the power would have left them, then fails a sync. */
export async function breakDisk(cuts: number, seed: number, say: (progress: string) => void): Promise<DiskRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-disk-"));
  try {
    const shim = join(folder, "shim.so");
    execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", shim, resolve(ROOT, "test/faults/disk-shim.c"), "-ldl"]);
    const dataDir = join(folder, "data");
    const { token } = await initialise(dataDir);
    const before = filesIn(dataDir);
    const log = join(folder, "log");
    const fails = join(folder, "fails");
    const env = { LD_PRELOAD: shim, DISK_FOLDER: dataDir, DISK_LOG: log, DISK_FAILS: fails };
    const daemon = await serve(dataDir, [], env);
    const answered: Answered[] = [];
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let at = client; at < CREATES; at += CLIENTS) {
          const { id } = await create(daemon, token, `Row ${at}`);
          if (id) answered.push({ id, logBytes: statSync(log).size });
        }
      }),
    );
    say(`${answered.length} creates answered, ${statSync(log).size} bytes of deeds`);
    const failure = await failSync(daemon, token, fails);
    say(`a failed sync: ${failure.failedStatus}, ended after ${failure.endedMs} ms with ${failure.exitCode}`);
    rmSync(fails);
    const lost = await missing(dataDir, token, answered);
    const scratch = join(folder, "scratch");
    mkdirSync(scratch);
    const plan = { before, deeds: deedsIn(readFileSync(log)), answered, folder: scratch };
    const power = cutPower(plan, { cuts, seed });
    say(`${power.cuts} cuts: ${power.losing} lost rows, ${power.corrupt} left a broken file`);
    const control = cutPower(plan, { cuts: Math.ceil(cuts / 10), seed, isLazy: true });
    say(`${control.cuts} cuts of a lazy disk: ${control.losing} lost rows`);
    return { answered: answered.length, power, control, ...failure, lost };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function failSync(
  daemon: RunningDaemon,
  token: string,
  fails: string,
): Promise<Pick<DiskRun, "failedStatus" | "takenAfterwards" | "endedMs" | "exitCode">> {
  writeFileSync(fails, "");
  const began = performance.now();
  const { status: failedStatus } = await create(daemon, token, "Failed");
  let takenAfterwards = failedStatus === 200 ? 1 : 0;
  while (daemon.child.exitCode === null && daemon.child.signalCode === null && performance.now() - began < 10_000) {
    if ((await create(daemon, token, "Later")).status === 200) takenAfterwards += 1;
    await pause(20);
  }
  const endedMs = Math.round(performance.now() - began);
  if (daemon.child.exitCode === null) await daemon.end("SIGKILL");
  return { failedStatus, takenAfterwards, endedMs, exitCode: daemon.child.exitCode };
}

async function missing(dataDir: string, token: string, answered: readonly Answered[]): Promise<number> {
  if (!existsSync(dataDir)) return answered.length;
  const daemon = await serve(dataDir);
  try {
    let lost = 0;
    for (const { id } of answered) {
      const headers = { authorization: `Bearer ${token}` };
      if ((await fetch(`${daemon.url}/api/v1/users/${id}`, { headers })).status !== 200) lost += 1;
    }
    return lost;
  } finally {
    await daemon.end("SIGTERM");
  }
}

/** Status 0 for no answer. */
async function create({ url }: RunningDaemon, token: string, name: string): Promise<{ status: number; id?: string }> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  try {
    const answer = await fetch(`${url}/api/v1/users`, { method: "POST", headers, body: JSON.stringify({ name }) });
    const { id } = (await answer.json()) as { id?: string };
    return { status: answer.status, ...(answer.status === 200 && id ? { id } : {}) };
  } catch {
    return { status: 0 };
  }
}
