import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { type ApiClient, createApiClient } from "../../../src/api-client/api-client.ts";
import { registerDevices } from "../../../src/api-client/register-devices.ts";
import type { SimulatorReport } from "../../../src/tools/simulator/report.ts";
import { percentile } from "../../bench/benchmark-row.ts";
import {
  LOOPBACK_SETTINGS,
  type RunningSimulator,
  runInit,
  serveAppliance,
  spawnSimulatorProcess,
} from "../../support/carillon-process.ts";
import { seedRows } from "../../support/seed-rows.ts";
import { findExpensiveRequests, listPaths } from "./expensive-requests.ts";
import { FLOODS, type Flood, type FloodTarget, floodOf } from "./floods.ts";
import { plantBug } from "./planted-bugs.ts";

export interface FloodPlan {
  /** Emergencies that are sent during each flood. */
  emergencies: number;
  /** Names of floods; null: all, with those of the most expensive requests. */
  floods: readonly string[] | null;
  /** Name of a planted bug. */
  bug: string | null;
}

/** What emergencies were like during one flood; ms, infinite for what never came. */
export interface FloodFigures {
  flood: string;
  postP99Ms: number;
  pushP50Ms: number;
  pushP99Ms: number;
  /** Slowest request of a console session. */
  sessionMaxMs: number;
  /** Requests of the session that were refused or failed. */
  sessionRefused: number;
  watchdogGapMs: number;
  /** Requests that the flood got answered, by status. */
  answered: Record<string, number>;
}

/** Limits of each flood. */
const FLOOD_LIMITS = { pushP99Ms: 1_000, watchdogGapMs: 2_000 };

const PHONES = 10;
const USERS = 4_000;
const DEVICES = 2_000;
/** Time for the flood to build up. */
const BUILD_UP_MS = 1_500;
const BETWEEN_EMERGENCIES_MS = 400;
const SESSION_INTERVAL_MS = 200;
const MAX_WAIT_MS = 20_000;
const WATCHDOG_USEC = "4000000";
const PASSWORD = "correct horse battery";

interface Scene {
  target: FloodTarget;
  campus: RunningSimulator;
  group: string;
  cookie: string;
  watchdogLog: string;
}

/** Sends emergencies during floods, and measures them, a console session and the watchdog. */
export async function floodDaemon(plan: FloodPlan, say: (progress: string) => void): Promise<FloodFigures[]> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-flood-"));
  const dataDir = join(folder, "data");
  const settings = join(folder, "carillon.yaml");
  await writeFile(settings, `${LOOPBACK_SETTINGS}log: {level: warn}\nbackups: {schedule: null}\n`);
  const first = await runInit(dataDir);
  seedRows(dataDir, { users: USERS, devices: DEVICES });
  const supervisor = await standInForSystemd(folder);
  const bug = plan.bug === null ? {} : await plantBug(plan.bug, folder);
  const daemon = await serveAppliance(dataDir, ["--config", settings], { ...supervisor.env, ...bug });
  const authUrl = daemon.urls["ip-phones/auth"] ?? "";
  const campus = await spawnSimulatorProcess(["--phones", String(PHONES), "--auth-url", authUrl]);
  try {
    const api = createApiClient(daemon.url, first.token);
    await registerDevices(api, campus.devices);
    const additionIds = campus.devices.map(({ deviceIdentifier }) => deviceIdentifier);
    const group = await api.post("/device-groups", { name: "All", filters: [], filterType: "REJECT", additionIds });
    const tokens = {
      token: await createUser(api, []),
      readerToken: await createUser(api, await listPaths(daemon.url)),
    };
    const target: FloodTarget = { url: daemon.url, authUrl, adminToken: first.token, ...tokens };
    const cookie = await logIn(daemon.url);
    const scene: Scene = { target, cookie, campus, group: String(group.id), watchdogLog: supervisor.log };
    await sendEmergency(scene);
    const floods = await floodsOf(plan, target, say);
    const figures: FloodFigures[] = [];
    for (const flood of floods) {
      const found = await measureFlood(scene, flood, plan.emergencies);
      say(JSON.stringify(found));
      figures.push(found);
    }
    return figures;
  } finally {
    await daemon.end("SIGTERM");
    await campus.end("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  }
}

/** The broken limits of one flood, in words. */
export function brokenLimits({ flood, pushP99Ms, watchdogGapMs, sessionRefused }: FloodFigures): string[] {
  return [
    ...(pushP99Ms > FLOOD_LIMITS.pushP99Ms ? [`${flood}: phones got an emergency after ${pushP99Ms} ms (p99)`] : []),
    ...(watchdogGapMs > FLOOD_LIMITS.watchdogGapMs ? [`${flood}: no watchdog message for ${watchdogGapMs} ms`] : []),
    ...(sessionRefused > 0 ? [`${flood}: ${sessionRefused} requests of a session were refused`] : []),
  ];
}

/** A `systemd-notify` that writes down when it was called, and the environment of a service with a watchdog. */
async function standInForSystemd(folder: string): Promise<{ env: NodeJS.ProcessEnv; log: string }> {
  const log = join(folder, "watchdog");
  const command = join(folder, "systemd-notify");
  await writeFile(log, "");
  await writeFile(command, `#!/bin/sh\ncase "$*" in *WATCHDOG=1*) date +%s%N >> '${log}' ;; esac\n`);
  await chmod(command, 0o755);
  const env = { PATH: `${folder}:${process.env.PATH}`, NOTIFY_SOCKET: join(folder, "notify"), WATCHDOG_USEC };
  return { env, log };
}

/** Longest time between two watchdog messages from `since` to `until`, epoch ms. */
async function watchdogGap(log: string, since: number, until: number): Promise<number> {
  const all = (await readFile(log, "utf8"))
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => Number(BigInt(line) / 1_000_000n));
  const before = all.findLast((at) => at <= since) ?? since;
  const times = [before, ...all.filter((at) => at > since && at <= until), until];
  return Math.max(...times.slice(1).map((at, index) => at - (times[index] as number)));
}

/** A user who may read what is at these paths and no more; returns a token. */
async function createUser(api: ApiClient, readable: readonly string[]): Promise<string> {
  const user = await api.post("/users", {
    name: "Low Privilege",
    email: `${crypto.randomUUID()}@users.example.org`,
  });
  for (const spec of readable) await api.post(`/users/${user.id}/user-permissions`, { verb: "get", spec });
  const { token, accessToken } = await api.post<{ token?: string; accessToken?: string }>(`/users/${user.id}/tokens`, {
    name: "flood",
  });
  return token ?? accessToken ?? "";
}

async function logIn(url: string): Promise<string> {
  const response = await fetch(`${url}/api/login`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: "admin@example.org", password: PASSWORD }),
  });
  const [cookie] = response.headers.getSetCookie();
  if (cookie === undefined) throw new Error(`Log-in failed with ${response.status}.`);
  return cookie.split(";", 1)[0] as string;
}

async function floodsOf(plan: FloodPlan, target: FloodTarget, say: (progress: string) => void): Promise<Flood[]> {
  const named = FLOODS.filter(({ name }) => plan.floods?.includes(name) ?? true);
  if (plan.floods !== null && !plan.floods.includes("expensive")) return named;
  const expensive = await findExpensiveRequests(target);
  for (const [at, { path, ms }] of expensive.entries()) say(`expensive-${at + 1}: ${ms} ms ${path}`);
  return [...named, ...expensive.map(({ path }, at) => floodOf(path, `expensive-${at + 1}`))];
}

async function measureFlood(scene: Scene, flood: Flood, emergencies: number): Promise<FloodFigures> {
  const workers = startFlood(flood, scene.target);
  const session = watchSession(scene);
  const since = Date.now();
  try {
    await pause(BUILD_UP_MS);
    const posts: number[] = [];
    const pushes: number[] = [];
    for (let at = 0; at < emergencies; at++) {
      const { postMs, pushMs } = await sendEmergency(scene);
      posts.push(postMs);
      pushes.push(...pushMs);
      await pause(BETWEEN_EMERGENCIES_MS);
    }
    const until = Date.now();
    const [answered, { maxMs, refused }] = await Promise.all([countAnswered(workers), session.stop()]);
    return {
      flood: flood.name,
      postP99Ms: Math.round(percentile(posts, 99)),
      pushP50Ms: Math.round(percentile(pushes, 50)),
      pushP99Ms: Math.round(percentile(pushes, 99)),
      sessionMaxMs: Math.round(maxMs),
      sessionRefused: refused,
      watchdogGapMs: await watchdogGap(scene.watchdogLog, since, until),
      answered,
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

/** One worker per spare processor shares the connections. */
function startFlood(flood: Flood, target: FloodTarget): Worker[] {
  const work = flood.work(target);
  const count = Math.max(1, availableParallelism() - 1);
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
  const script = new URL(`./flood-worker.${extension}`, import.meta.url);
  return Array.from({ length: count }, () => {
    return new Worker(script, {
      execArgv: ["--experimental-strip-types"],
      workerData: { ...work, connections: Math.ceil(work.connections / count) },
    });
  });
}

async function countAnswered(workers: readonly Worker[]): Promise<Record<string, number>> {
  const total: Record<string, number> = {};
  for (const worker of workers) {
    const counts = await new Promise<Record<string, number>>((resolve) => {
      worker.once("message", resolve);
      worker.postMessage("counts");
    });
    for (const [name, count] of Object.entries(counts)) total[name] = (total[name] ?? 0) + count;
  }
  return total;
}

/** Asks as a console does, each time over a new connection. */
function watchSession({ target, cookie }: Scene): { stop(): Promise<{ maxMs: number; refused: number }> } {
  let isEnding = false;
  let maxMs = 0;
  let refused = 0;
  const asking = (async () => {
    while (!isEnding) {
      const began = performance.now();
      const status = await statusOf(target.url, { method: "GET", path: "/api/v1/session", headers: { cookie } });
      maxMs = Math.max(maxMs, performance.now() - began);
      if (status !== 200) refused++;
      await pause(SESSION_INTERVAL_MS);
    }
    return { maxMs, refused };
  })();
  return {
    stop() {
      isEnding = true;
      return asking;
    },
  };
}

let sent = 0;

/** Sends an emergency over a new connection; infinite times for what did not come. */
async function sendEmergency({ target, campus, group }: Scene): Promise<{ postMs: number; pushMs: number[] }> {
  const subject = `Lockdown ${++sent}`;
  const body = JSON.stringify({ subject, body: "Lock the doors.", priority: "critical", deviceGroupIds: [group] });
  const began = Date.now();
  const { status, text } = await ask(target.url, {
    ...{ method: "POST", path: "/api/v1/notifications", body },
    headers: { "content-type": "application/json", authorization: `Bearer ${target.adminToken}` },
  });
  const postMs = status === 200 || status === 201 ? Date.now() - began : Number.POSITIVE_INFINITY;
  let pushMs: number[] = [];
  for (const end = began + MAX_WAIT_MS; Date.now() < end; ) {
    await pause(200);
    pushMs = pushTimes((await (await fetch(`${campus.control}/report`)).json()) as SimulatorReport, subject, began);
    if (pushMs.every(Number.isFinite)) break;
  }
  if (Number.isFinite(postMs)) await endNotification(target, (JSON.parse(text) as { id: string }).id);
  return { postMs, pushMs };
}

function pushTimes({ phones }: SimulatorReport, subject: string, since: number): number[] {
  return phones.map(({ pages }) => {
    const page = pages.find(({ title, text, prompt }) => [title, text, prompt].some((each) => each.includes(subject)));
    return (page?.at ?? Number.POSITIVE_INFINITY) - since;
  });
}

/** So that the phones are free for the next one. */
async function endNotification({ url, adminToken }: FloodTarget, id: string): Promise<void> {
  await ask(url, {
    ...{ method: "POST", path: `/api/v1/notifications/${id}/activities`, body: '{"type":"abort"}' },
    headers: { "content-type": "application/json", authorization: `Bearer ${adminToken}` },
  });
}

interface Asked {
  method: string;
  path: string;
  headers: Record<string, string>;
  body?: string;
}

async function statusOf(url: string, asked: Asked): Promise<number> {
  return (await ask(url, asked)).status;
}

/** Status 0 when the connection failed or no answer came. */
function ask(url: string, { method, path, headers, body }: Asked): Promise<{ status: number; text: string }> {
  return new Promise((resolve) => {
    const sending = request(`${url}${path}`, { method, headers, agent: new Agent() }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      response.once("close", () => resolve({ status: response.complete ? (response.statusCode ?? 0) : 0, text }));
    });
    sending.setTimeout(MAX_WAIT_MS, () => sending.destroy());
    sending.once("error", () => resolve({ status: 0, text: "" }));
    sending.end(body);
  });
}
