import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createApiClient } from "../../src/api-client/api-client.ts";
import {
  type InitOutput,
  REPOSITORY_ROOT,
  type RunningDaemon,
  runInit,
  serveAppliance,
} from "../support/carillon-process.ts";
import {
  type AcknowledgedCreate,
  type Cuts,
  cutPower,
  type MidMessageCut,
  parseOperations,
  readDataFiles,
  unsyncedOperations,
} from "./power-cuts.ts";

/** What a bad disk did. */
export interface DiskRun {
  /** Creates that were answered before the power was cut, and those of them that were messages. */
  answered: number;
  messages: number;
  /** COMMITs that did not wait for the disk: what a message's stages write before its ledger. */
  unawaited: number;
  power: CutCounts;
  /** The same where the disk is asked less often, by way of control: rows must be lost there. */
  control: CutCounts;
  /** Starts after a cut in the middle of messages, and answered messages whose ledger was not made again then. */
  starts: number;
  unmade: number;
  /** Status of the first create that the disk failed, and creates that were answered 200 after it. */
  failedStatus: number;
  takenAfterwards: number;
  /** From the failure to the daemon's end, ms, and its exit code. */
  endedMs: number;
  exitCode: number | null;
  /** Answered creates that were gone after the next start. */
  lost: number;
}

/** Of cuts; without the files. */
type CutCounts = Omit<Cuts, "midway">;

/** How much is written and cut. */
export interface DiskPlan {
  /** Creates before the cuts, every eighth of them a message. */
  creates: number;
  cuts: number;
  /** Starts from what cuts in the middle of messages left, at most. */
  starts: number;
}

const CLIENTS = 4;
const EVERY_MESSAGE = 8;
const ZONES = 3;
/** Messages sent one at a time at the end: no other client's sync covers their stages, however the machine is loaded. */
const LONE_MESSAGES = 5;
/** A start and its first messages take this long at most on a loaded machine, in ms. */
const MAX_WAIT_MS = 60_000;

/**
 * Breaks the disk under a daemon: replays its writes as cuts of the power at moments that follow from `seed` would have left
 * them, starts it from some of that, then fails a sync.
 */
export async function injectDiskFailures(
  { creates, cuts, starts }: DiskPlan,
  seed: number,
  say: (progress: string) => void,
): Promise<DiskRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-disk-"));
  try {
    const shim = join(folder, "shim.so");
    execFileSync("cc", [
      "-shared",
      "-fPIC",
      "-O2",
      "-o",
      shim,
      resolve(REPOSITORY_ROOT, "test/faults/disk-shim.c"),
      "-ldl",
    ]);
    const dataDir = join(folder, "data");
    const first = await runInit(dataDir);
    const { token } = first;
    const groupId = await addZones(dataDir, first);
    const before = readDataFiles(dataDir);
    const log = join(folder, "log");
    const fails = join(folder, "fails");
    const env = { LD_PRELOAD: shim, DISK_FOLDER: dataDir, DISK_LOG: log, DISK_FAILS: fails };
    const daemon = await serveAppliance(dataDir, [], env);
    const answered: AcknowledgedCreate[] = [];
    const make = async (at: number, isMessage: boolean): Promise<void> => {
      const row = isMessage
        ? { subject: `Message ${at}`, deviceGroupIds: [groupId] }
        : { name: `Row ${at}`, type: "anonymous" };
      const resource = isMessage ? "notifications" : "users";
      const { id } = await create(daemon, token, row, resource);
      if (id) answered.push({ resource, id, logBytes: statSync(log).size });
    };
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let at = client; at < creates; at += CLIENTS) await make(at, at % EVERY_MESSAGE === 0);
      }),
    );
    const api = createApiClient(daemon.url, token);
    for (let at = creates; at < creates + LONE_MESSAGES; at++) {
      await make(at, true);
      const id = answered.at(-1)?.id;
      await eventually(async () => (await api.get<{ total: number }>(`/notifications/${id}/devices`)).total === ZONES);
    }
    const messages = answered.filter(({ resource }) => resource === "notifications").length;
    say(`${answered.length} creates answered, ${messages} of them messages, ${statSync(log).size} bytes of deeds`);
    const failure = await failSync(daemon, token, fails);
    say(`a failed sync: ${failure.failedStatus}, ended after ${failure.endedMs} ms with ${failure.exitCode}`);
    rmSync(fails);
    const lost = await missing(dataDir, token, answered);
    const scratch = join(folder, "scratch");
    mkdirSync(scratch);
    const deeds = parseOperations(readFileSync(log));
    const plan = { before, deeds, answered, folder: scratch, devices: ZONES };
    const { midway, ...power } = cutPower(plan, { cuts, seed, midway: starts });
    say(`${power.cuts} cuts: ${power.losing} lost rows, ${power.corrupt} left a broken file`);
    const { midway: _, ...control } = cutPower(plan, { cuts: Math.ceil(cuts / 10), seed, isLazy: true });
    say(`${control.cuts} cuts of a lazy disk: ${control.losing} lost rows`);
    let unmade = 0;
    for (const each of midway) unmade += await unmadeAfter(each, dataDir, join(folder, "again"), token);
    say(`${midway.length} starts in the middle of messages: ${unmade} were not made again`);
    const figures = {
      answered: answered.length,
      messages,
      unawaited: unsyncedOperations(deeds),
      starts: midway.length,
      unmade,
    };
    return { ...figures, power, control, ...failure, lost };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Makes the zones that messages go to, with nobody watching; gives the id of their group. */
async function addZones(dataDir: string, { token, extensionId, endpointId }: InitOutput): Promise<string> {
  const daemon = await serveAppliance(dataDir);
  try {
    const api = createApiClient(daemon.url, token);
    const additionIds: string[] = [];
    for (let zone = 1; zone <= ZONES; zone++) {
      const attributes = { Group: `239.255.7.${zone}`, Port: "5004", Codec: "PCMU", TTL: "1" };
      const device = { type: "speakers", deviceIdentifier: `zone:${zone}`, description: `Zone ${zone}`, attributes };
      const at = `/extensions/${extensionId}/endpoints/${endpointId}/devices`;
      additionIds.push((await api.post<{ icopId: string }>(at, device)).icopId);
    }
    const group = { name: "Zones", filterType: "REJECT", additionIds };
    return (await api.post<{ id: string }>("/device-groups", group)).id;
  } finally {
    await daemon.end("SIGTERM");
  }
}

/** Starts a daemon in `folder` from what a cut left; gives how many of the messages there do not get a whole ledger. */
async function unmadeAfter(
  { files, messages }: MidMessageCut,
  dataDir: string,
  folder: string,
  token: string,
): Promise<number> {
  cpSync(dataDir, folder, { recursive: true });
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
  const daemon = await serveAppliance(folder);
  try {
    const api = createApiClient(daemon.url, token);
    const left = new Set(messages);
    for (const until = performance.now() + MAX_WAIT_MS; left.size > 0 && performance.now() < until; await pause(50)) {
      for (const id of left) {
        const { total } = await api.get<{ total: number }>(`/notifications/${id}/devices`);
        if (total === ZONES) left.delete(id);
      }
    }
    return left.size;
  } finally {
    await daemon.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Asks until the answer is yes; false when it is still no after MAX_WAIT_MS. */
async function eventually(ask: () => Promise<boolean>): Promise<boolean> {
  for (const until = performance.now() + MAX_WAIT_MS; performance.now() < until; await pause(50)) {
    if (await ask()) return true;
  }
  return false;
}

async function failSync(
  daemon: RunningDaemon,
  token: string,
  fails: string,
): Promise<Pick<DiskRun, "failedStatus" | "takenAfterwards" | "endedMs" | "exitCode">> {
  writeFileSync(fails, "");
  const began = performance.now();
  const { status: failedStatus } = await create(daemon, token, { name: "Failed", type: "anonymous" });
  let takenAfterwards = failedStatus === 200 ? 1 : 0;
  while (daemon.child.exitCode === null && daemon.child.signalCode === null && performance.now() - began < 10_000) {
    if ((await create(daemon, token, { name: "Later", type: "anonymous" })).status === 200) takenAfterwards += 1;
    await pause(20);
  }
  const endedMs = Math.round(performance.now() - began);
  if (daemon.child.exitCode === null) await daemon.end("SIGKILL");
  return { failedStatus, takenAfterwards, endedMs, exitCode: daemon.child.exitCode };
}

async function missing(dataDir: string, token: string, answered: readonly AcknowledgedCreate[]): Promise<number> {
  if (!existsSync(dataDir)) return answered.length;
  const daemon = await serveAppliance(dataDir);
  try {
    let lost = 0;
    for (const { resource, id } of answered) {
      const headers = { authorization: `Bearer ${token}` };
      if ((await fetch(`${daemon.url}/api/v1/${resource}/${id}`, { headers })).status !== 200) lost += 1;
    }
    return lost;
  } finally {
    await daemon.end("SIGTERM");
  }
}

/** Status 0 for no answer. */
async function create(
  { url }: RunningDaemon,
  token: string,
  row: object,
  resource: AcknowledgedCreate["resource"] = "users",
): Promise<{ status: number; id?: string }> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  try {
    const answer = await fetch(`${url}/api/v1/${resource}`, { method: "POST", headers, body: JSON.stringify(row) });
    const { id } = (await answer.json()) as { id?: string };
    return { status: answer.status, ...(answer.status === 200 && id ? { id } : {}) };
  } catch {
    return { status: 0 };
  }
}
