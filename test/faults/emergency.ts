import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ApiClient, createApiClient } from "../../src/api-client/api-client.ts";
import { registerDevices } from "../../src/api-client/register-devices.ts";
import { ssrcOf } from "../../src/media/rtp.ts";
import { ONPREM_EXTENSION_ID } from "../../src/resources/devices/on-premises-extension.ts";
import type { SimulatorReport } from "../../src/tools/simulator/report.ts";
import { percentile } from "../bench/benchmark-row.ts";
import {
  LOOPBACK_SETTINGS,
  type RunningSimulator,
  runInit,
  serveAppliance,
  spawnSimulatorProcess,
} from "../support/carillon-process.ts";
import { cpuTimeMs } from "../support/cpu-time.ts";

/** How emergencies are measured. */
export interface EmergencyPlan {
  /** Devices, a tenth of them zones, the rest phones. */
  devices: number;
  /** Routine messages that are on air at these devices, each at its own part of them. */
  running: number;
  /** Emergencies that are sent while all of these sound, and as many that are sent while these are still being sent. */
  rounds: number;
}

/** From the POST of an emergency to the first packet of it at each device, over all rounds; ms, infinite for silence. */
export interface FirstPackets {
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
}

/** What emergencies came to. */
export interface EmergencyFigures {
  devices: number;
  running: number;
  /** While the routine messages sounded everywhere. */
  sounding: FirstPackets;
  /** While the routine messages were being sent. */
  sending: FirstPackets;
  /** Most processor time that the daemon took from a POST until all were heard to hear, in ms. */
  processorMs: number;
  /** Of the machine over the last minute. */
  load: number;
  processors: number;
  /** Promises that were broken, in words. */
  broken: string[];
}

const LATENCY = "uniform:5:200";
const AT_ONCE = 32;
/** Longest wait for what comes on a machine that is slow. */
const MAX_WAIT_MS = 180_000;
/** What is not heard by then is silent. */
const MAX_HEARING_MS = 15_000;
/** On a machine that is slow a routine message may have given devices up: after so long nearly all that sound will do. */
const PATIENCE_MS = 60_000;
const NEARLY_ALL = 0.95;
/** The other end of the scale. */
const MIN_URGENT = 9;
/** So that routine messages sound through a round. */
const REPETITIONS = 100;

/**
 * Sends emergencies to all devices while routine messages are on air at all of them, through the daemon itself, and asks
 * the campus when each device heard the first packet.
 */
export async function measureEmergencies(
  plan: EmergencyPlan,
  say: (progress: string) => void,
): Promise<EmergencyFigures> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-emergency-"));
  const settings = join(folder, "carillon.yaml");
  await writeFile(settings, `${LOOPBACK_SETTINGS}log: {level: warn}\n`);
  const { token } = await runInit(join(folder, "data"));
  const daemon = await serveAppliance(join(folder, "data"), ["--config", settings]);
  const zones = Math.ceil(plan.devices / 10);
  const campus = await spawnSimulatorProcess([
    ...["--phones", String(plan.devices - zones), "--zones", String(zones), "--latency", LATENCY],
    ...["--auth-url", daemon.urls["ip-phones/auth"] as string],
  ]);
  try {
    const scene = { plan, say, campus, api: createApiClient(daemon.url, token), pid: daemon.child.pid ?? 0 };
    return await runRounds(scene, await makeGroups(scene));
  } finally {
    await daemon.end("SIGTERM");
    await campus.end("SIGTERM");
    await rm(folder, { recursive: true, force: true });
  }
}

interface Scene {
  plan: EmergencyPlan;
  api: ApiClient;
  campus: RunningSimulator;
  /** Of the daemon. */
  pid: number;
  say(progress: string): void;
}

interface Groups {
  all: string;
  parts: string[];
}

async function makeGroups({ plan, api, campus, say }: Scene): Promise<Groups> {
  await registerDevices(api, campus.devices);
  const names = campus.devices.map(({ deviceIdentifier }) => deviceIdentifier);
  const all = await api.post("/device-groups", { name: "All", filters: [], filterType: "ACCEPT" });
  const parts: string[] = [];
  for (let part = 0; part < plan.running; part++) {
    const additionIds = names.filter((_name, at) => at % plan.running === part);
    const group = { name: `Part ${part + 1}`, filters: [], filterType: "REJECT", additionIds };
    parts.push(String((await api.post("/device-groups", group)).id));
  }
  say(`${names.length} devices in ${parts.length} parts`);
  return { all: String(all.id), parts };
}

async function runRounds(scene: Scene, groups: Groups): Promise<EmergencyFigures> {
  const { plan, say } = scene;
  const times = { sounding: [] as number[], sending: [] as number[] };
  const broken: string[] = [];
  let processorMs = 0;
  for (const when of ["sounding", "sending"] as const) {
    for (let round = 1; round <= plan.rounds; round++) {
      const routine = await sendRoutine(scene, groups.parts, when === "sounding");
      const emergency = await sendEmergency(scene, groups.all);
      times[when].push(...emergency.times);
      processorMs = Math.max(processorMs, emergency.processorMs);
      broken.push(...(await endRound(scene, routine, emergency)).map((words) => `${when} ${round}: ${words}`));
      say(`${when}, round ${round} of ${plan.rounds}: ${JSON.stringify(figuresOf(emergency.times))}`);
    }
  }
  return {
    ...{ devices: plan.devices, running: plan.running },
    ...{ sounding: figuresOf(times.sounding), sending: figuresOf(times.sending), processorMs: Math.round(processorMs) },
    ...{ load: Math.round((loadavg()[0] ?? 0) * 10) / 10, processors: availableParallelism(), broken },
  };
}

function figuresOf(times: readonly number[]): FirstPackets {
  const [p50Ms = 0, p99Ms = 0, maxMs = 0] = [50, 99, 100].map((percent) => Math.round(percentile(times, percent)));
  return { p50Ms, p99Ms, maxMs };
}

/** Sends the routine messages, each to its own part; waits until every device hears one of them where that is asked for. */
async function sendRoutine({ plan, api, campus }: Scene, parts: readonly string[], heard: boolean): Promise<string[]> {
  await fetch(`${campus.control}/reset`, { method: "POST" });
  const sent: string[] = [];
  await eachOf(parts, async (part, at) => {
    const message = { subject: `Notice ${at + 1}`, body: "Nothing urgent", alertTone: "chime", deviceGroupIds: [part] };
    const profile = { priority: MIN_URGENT, repetitions: REPETITIONS };
    const extensionSettingsOverrides = { [ONPREM_EXTENSION_ID]: profile };
    sent.push(String((await api.post("/notifications", { ...message, extensionSettingsOverrides })).id));
  });
  const enough = Date.now() + PATIENCE_MS;
  if (!heard) return sent;
  await until(async () => {
    const { listeners } = (await reportOf(campus)).summary;
    return listeners >= (Date.now() < enough ? 1 : NEARLY_ALL) * plan.devices;
  });
  return sent;
}

interface Emergency {
  id: string;
  /** ms after the POST for each device. */
  times: number[];
  processorMs: number;
}

async function sendEmergency({ plan, api, campus, pid }: Scene, all: string): Promise<Emergency> {
  const before = cpuTimeMs(pid);
  const sentAt = Date.now();
  const message = { subject: "Lockdown", body: "Lock the doors. This is no drill.", alertTone: "lockdown" };
  const extensionSettingsOverrides = { [ONPREM_EXTENSION_ID]: { repetitions: REPETITIONS } };
  const urgent = { ...message, priority: "critical", deviceGroupIds: [all], extensionSettingsOverrides };
  const id = String((await api.post("/notifications", urgent)).id);
  let times: number[] = [];
  // Asked seldom, so that the question does not take what it asks for.
  for (const end = Date.now() + MAX_HEARING_MS; Date.now() < end; ) {
    await pause(2_000);
    times = timesIn(await reportOf(campus), ssrcOf(id), sentAt);
    if (times.length === plan.devices && times.every(Number.isFinite)) break;
  }
  return { id, times, processorMs: cpuTimeMs(pid) - before };
}

function timesIn({ phones, zones }: SimulatorReport, ssrc: number, sentAt: number): number[] {
  // A phone hears it first in the group where it listened to a notice.
  const stays = [...phones.map((phone) => [...phone.earlier, phone]), ...zones.map((zone) => [zone])];
  return stays.map((own) => {
    const first = own.find((stay) => stay.ssrc === ssrc && stay.firstPacketAt !== null);
    return (first?.firstPacketAt ?? Number.POSITIVE_INFINITY) - sentAt;
  });
}

/** Ends all that was sent, and says what was not as it should be. */
async function endRound({ api }: Scene, routine: readonly string[], { id, times }: Emergency): Promise<string[]> {
  const silent = times.filter((ms) => ms === Number.POSITIVE_INFINITY).length;
  await eachOf([id, ...routine], (sent) => api.post(`/notifications/${sent}/activities`, { type: "abort" }));
  await eachOf([id, ...routine], (sent) =>
    until(async () => {
      const { progress } = await api.get<{ progress: { percentComplete?: number } | null }>(`/notifications/${sent}`);
      return progress?.percentComplete === 100;
    }),
  );
  return silent > 0 ? [`${silent} devices heard nothing of the emergency`] : [];
}

async function reportOf({ control }: RunningSimulator): Promise<SimulatorReport> {
  return (await fetch(`${control}/report`)).json() as Promise<SimulatorReport>;
}

async function eachOf<T>(all: readonly T[], work: (one: T, at: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const client = async (): Promise<void> => {
    for (let at = next++; at < all.length; at = next++) await work(all[at] as T, at);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + MAX_WAIT_MS; !(await isSo()); await pause(200)) {
    if (Date.now() > end) throw new Error("What was waited for did not come.");
  }
}
