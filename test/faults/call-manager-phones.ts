import { type ApiClient, createApiClient, listAll } from "../../src/api-client/api-client.ts";
import type { AxlFailure, AxlPeer } from "../support/call-manager/axl-peer.ts";
import {
  type SimulatedCluster,
  type SimulatedPhone,
  simulatedPhoneAt,
} from "../support/call-manager/simulated-cluster.ts";
import { COMMUNITY, type SnmpPeer, type SnmpUser } from "../support/call-manager/snmp-peer.ts";

/** The version 3 user of the agents. */
export const SNMP_USER: SnmpUser = {
  ...{ name: "watcher", authentication: "SHA-256", encryption: "AES" },
  ...{ authPassword: "authority-4712", encryptPassword: "privacy-4713" },
};

/** A daemon and the cluster whose phones it reads. */
export interface CallManagerScene {
  url: string;
  token: string;
  endpointId: string;
  cluster: SimulatedCluster;
  axl: AxlPeer;
  snmp: SnmpPeer;
  /** Watches the daemon while `work` runs. */
  watching?<T>(work: () => Promise<T>): Promise<T>;
}

/** What a run does. */
export interface PhoneStory {
  /** Phones that change. */
  changes: number;
  /** What the interface does instead of answering, one after the other, and how that must be named. */
  troubles: readonly (readonly [AxlFailure, string])[];
  /**
   * Codes of troubles whose alarm is waited for, the reading that is made again by itself, and the alarm's end: two minutes
   * each. Behind the code all troubles go the same way; after the others the cluster is read at once.
   */
  alarmed: readonly string[];
  /** Lets a node be silent: its registrations come from the second source. */
  withSilentNode: boolean;
}

/** What a run came to; promises that were not kept stand in `broken`. */
export interface PhoneRun {
  phones: number;
  firstReadingMs: number;
  changeMs: number;
  /** From the trouble to the alarm, the longest of all. */
  alarmMs: number;
  broken: string[];
}

interface CacheState {
  state: string;
  phones: number | null;
  registered: number | null;
  code: string | null;
  reason: string | null;
  endedAt: string | null;
  warnings: string[];
}

interface Device {
  deviceIdentifier: string;
  description: string;
  defunct: boolean;
  updatedAt: string;
  attributes: Record<string, string>;
}

const PHONE_ALARM = "91b26697-934f-11ec-b6a2-99eae723bd46";

/** Lets an appliance read a cluster, change with it, and meet an administration interface that fails in every way. */
export async function readCallManagerPhones(
  scene: CallManagerScene,
  story: PhoneStory,
  say: (words: string) => void,
): Promise<PhoneRun> {
  const { cluster, axl, snmp } = scene;
  const api = createApiClient(scene.url, scene.token);
  const run: PhoneRun = { phones: cluster.phones.size, firstReadingMs: 0, changeMs: 0, alarmMs: 0, broken: [] };
  const expect = (kept: boolean, promise: string): void => {
    if (!kept) run.broken.push(promise);
    say(`${kept ? "kept" : "BROKEN"}: ${promise}`);
  };
  const { id } = await api.post<{ id: string }>("/callmgr-clusters", {
    ...{ name: "Campus", axlAddress: axl.address, axlUser: axl.user, axlPassword: axl.password },
    ...{ axlFingerprint: axl.fingerprint, snmpVersion: "2", snmpCommunity: COMMUNITY },
  });
  const path = `/callmgr-clusters/${id}`;
  const state = (): Promise<CacheState> => api.get<CacheState>(`${path}/phone-cache`);
  const read = async (kind: string): Promise<CacheState> => {
    await api.post(`${path}/phone-cache`, { kind });
    return until(state, ({ state: is }) => is === "idle" || is === "failed", 180_000);
  };
  /** Phones that were written since. */
  const writtenSince = async (since: string): Promise<Device[]> => {
    const found: Device[] = [];
    for (const each of await allDevices(api)) if (each.updatedAt > since) found.push(each);
    return found;
  };

  const server = { endpointId: scene.endpointId, cmAddress: "127.0.0.2", cmUsername: "cti" };
  await api.post(`${path}/onprem-servers`, server);
  const test = await api.post<{ ok: boolean; checks: { what: string }[] }>(`${path}/connection-test`, {});
  expect(test.ok && test.checks.length === 5, "the connection test finds nothing wrong, with both nodes");
  let began = performance.now();
  const { watching = (work) => work() } = scene;
  let last = await watching(() => read("full"));
  run.firstReadingMs = Math.round(performance.now() - began);
  const registered = [...cluster.phones.values()].filter((each) => each.registered).length;
  expect(last.phones === cluster.phones.size && last.registered === registered, `all ${run.phones} phones are read`);
  const devices = new Map((await allDevices(api)).map((each) => [each.deviceIdentifier, each]));
  expect(
    [...cluster.phones.values()].every((phone) => isAs(devices.get(phone.name), phone)),
    "each device is as its phone",
  );

  await pause(10);
  let since = new Date().toISOString();
  const changed = change(cluster, story.changes);
  snmp.refresh();
  began = performance.now();
  last = await read("delta");
  run.changeMs = Math.round(performance.now() - began);
  const written = new Set((await writtenSince(since)).map(({ deviceIdentifier }) => deviceIdentifier));
  expect(
    written.size === changed.size && [...changed].every((name) => written.has(name)),
    `only the ${changed.size} that changed are written`,
  );

  await pause(10);
  since = new Date().toISOString();
  const v3 = {
    snmpUsername: SNMP_USER.name,
    snmpAuthPassword: SNMP_USER.authPassword,
    snmpEncryptPassword: SNMP_USER.encryptPassword,
  };
  await api.put(path, { snmpVersion: "3", ...v3 });
  last = await read("full");
  expect(
    last.state === "idle" && last.warnings.length === 0 && (await writtenSince(since)).length === 0,
    "version 3 tells the same: nothing is written",
  );

  for (const [trouble, code] of story.troubles) await meet(trouble, code);
  if (story.withSilentNode) await silence();
  expect((await writtenSince(since)).length === 0, "none of it changed a phone");
  return run;

  async function meet(trouble: AxlFailure, code: string): Promise<void> {
    const name = typeof trouble === "object" ? `${trouble.spelling} ${trouble.rows}` : trouble;
    axl.failure = trouble;
    const from = performance.now();
    const isAlarmed = story.alarmed.includes(code);
    last = await read("full");
    if (code === "") expect(last.state === "idle", `${name}: read in smaller pages`);
    else expect(last.state === "failed" && last.code === code, `${name}: ${last.code} ${last.reason}`);
    if (isAlarmed) {
      await until(alarm, (status) => status === "ACTIVE", 120_000);
      run.alarmMs = Math.max(run.alarmMs, Math.round(performance.now() - from));
    }
    axl.failure = null;
    if (code === "") return;
    last = isAlarmed ? await until(state, ({ state: is }) => is === "idle", 200_000) : await read("full");
    expect(last.state === "idle" && last.code === null, `${name}: well again${isAlarmed ? " by itself" : ""}`);
    if (isAlarmed)
      expect((await until(alarm, (status) => status === "OK", 200_000)) === "OK", `${name}: the alarm is over`);
  }

  async function silence(): Promise<void> {
    snmp.freeze(1, true);
    last = await read("full");
    snmp.freeze(1, false);
    const isSecond = /second source/.test(last.warnings[0] ?? "");
    expect(last.state === "idle" && isSecond, "a silent node: the second source tells registrations");
  }

  async function alarm(): Promise<string> {
    return (await api.get<{ status: string }>(`/alarms/${PHONE_ALARM}`)).status;
  }
}

/** Phones that are told to be elsewhere before the daemon is killed. */
const CUT_OFF = 2_000;

/**
 * Kills an appliance while it writes what a reading found, and starts it again while the cluster does not answer: its
 * phones are as before or as they were found. Gives what was broken.
 */
export async function cutOffWriting(
  { url, token, cluster, axl }: Pick<CallManagerScene, "url" | "token" | "cluster" | "axl">,
  startAgain: () => Promise<{ url: string }>,
): Promise<string[]> {
  const api = createApiClient(url, token);
  const [campus] = await listAll<{ id: string }>(api, "/callmgr-clusters");
  const moved = [...cluster.phones.values()].slice(0, CUT_OFF);
  for (const phone of moved) phone.pool = "Cut off";
  await api.post(`/callmgr-clusters/${campus?.id}/phone-cache`, { kind: "full" });
  const state = () => api.get<CacheState & { phonesWritten: number }>(`/callmgr-clusters/${campus?.id}/phone-cache`);
  const last = await until(state, (is) => is.phonesWritten > 0 || is.state === "failed", 180_000);
  axl.failure = "503";
  const again = createApiClient((await startAgain()).url, token);
  const devices = new Map((await allDevices(again)).map((each) => [each.deviceIdentifier, each]));
  const pools = new Set(moved.map(({ name }) => devices.get(name)?.attributes.CallManagerDevicePool === "Cut off"));
  axl.failure = null;
  if (last.state !== "writing") return [`the daemon was killed while it was ${last.state}`];
  return pools.size === 1 ? [] : ["a killed daemon left phones of two readings"];
}

/** Changes so many phones: descriptions, registrations, pools, one that goes, one that comes; gives their names. */
function change(cluster: SimulatedCluster, count: number): Set<string> {
  const names = [...cluster.phones.keys()].slice(0, count - 1);
  for (const [at, name] of names.entries()) {
    const phone = cluster.phones.get(name) as SimulatedPhone;
    if (at === 0) cluster.recordChange("r", name);
    else if (at % 3 === 0) phone.registered = !phone.registered;
    else if (at % 3 === 1) phone.description = `Moved ${at}`;
    else phone.pool = "Pool 9";
    if (at % 3 !== 0) cluster.recordChange("u", name);
  }
  const added = simulatedPhoneAt(cluster.phones.size + 10);
  cluster.phones.set(added.name, added);
  cluster.recordChange("a", added.name);
  return new Set([...names, added.name]);
}

function isAs(device: Device | undefined, phone: ReturnType<typeof simulatedPhoneAt>): boolean {
  const { attributes, description } = device ?? { attributes: {} as Record<string, string>, description: "" };
  const { IPAddress, IsRegistered, DirectoryNumbers, CallManagerDevicePool, DeviceProduct } = attributes;
  return (
    description === phone.description &&
    IPAddress === phone.address &&
    IsRegistered === String(phone.registered) &&
    DirectoryNumbers === phone.lines.join(",") &&
    CallManagerDevicePool === phone.pool &&
    DeviceProduct === phone.model
  );
}

async function allDevices(api: ApiClient): Promise<Device[]> {
  const devices = await listAll<Device>(api, "/devices?includeDefunct=true");
  return devices.filter(({ deviceIdentifier }) => deviceIdentifier.startsWith("SEP"));
}

async function until<T>(ask: () => Promise<T>, isOver: (value: T) => boolean, maxMs: number): Promise<T> {
  const end = performance.now() + maxMs;
  for (;;) {
    const value = await ask();
    if (isOver(value) || performance.now() > end) return value;
    await pause(50);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
