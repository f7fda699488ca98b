import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { present } from "../../.ci/setup/debian.mjs";
import { type ApiClient, createApiClient } from "../../src/api-client/api-client.ts";
import { registerDevices } from "../../src/api-client/register-devices.ts";
import type { DaemonState } from "../../src/ops/diagnostics.ts";
import { extensionIdOf } from "../../src/plugin-host/extension-rows.ts";
import { sendControlCommand } from "../../src/wiring/control-socket.ts";
import { REPOSITORY_ROOT, type RunningDaemon, runInit, spawnDaemon } from "../support/carillon-process.ts";
import { sampleBytes, wavFile } from "../support/wav-file.ts";

/** What became of one scene. Times in ms; null: not within the limit. */
export interface NetworkSceneResult {
  scene: string;
  /** From the network's return to the sound, by receiver. */
  resumedMs: Record<string, number | null>;
  /** From the fault to a health that is not green; null in a scene without a fault that health must show. */
  redMs: number | null;
  /** From the network's return to a health that is green. */
  greenMs: number | null;
  broken: string[];
}

export interface NetworkRun {
  results: NetworkSceneResult[];
  /** Null when the sound did not come back somewhere. */
  worstResumeMs: number | null;
  broken: string[];
}

/** Sound and truth come back within this time after the network. */
const MAX_RESUME_MS = 2_000;
const MAX_HEALTH_MS = 7_000;
/** How long a fault lasts. */
const FAULT_MS = 3_000;
const PACKET_SILENCE_MS = 500;
const MAX_SILENCE_WAIT_MS = 10_000;
const AUDIO_S = 40;
const POLL_MS = 20;

/** Receivers by name: where the sound arrives on the other side. */
const EAR = { a0: "10.77.0.9 239.1.2.3", a1: "10.78.0.9 239.1.2.3", b1: "10.78.0.9 239.1.2.4", sip: "sip 10.77.0.9" };
const LATER = { c0: "10.77.0.9 239.1.2.5", c1: "10.78.0.9 239.1.2.5" };
const EARS = { ...EAR, ...LATER };
type Ear = keyof typeof EARS;

const PORT = 20_480;
const zone = (name: string, group: string, more: Record<string, string> = {}) => ({
  type: "speakers",
  deviceIdentifier: `zone:${name}`,
  description: name,
  attributes: { Group: group, Port: String(PORT), ...more },
});
const DEVICES = {
  A: zone("A", "239.1.2.3"),
  B: zone("B", "239.1.2.4", { Interface: "eth1" }),
  C: zone("C", "239.1.2.5"),
  D: zone("D", "239.1.2.5", { Interface: "eth1" }),
  sip: { type: "speakers", deviceIdentifier: "sip:gym@10.77.0.9", description: "Gym", attributes: {} },
} as const;
type Device = keyof typeof DEVICES;
const EARS_OF: Record<Device, readonly Ear[]> = {
  A: ["a0", "a1"],
  B: ["b1"],
  C: ["c0", "c1"],
  D: ["c0", "c1"],
  sip: ["sip"],
};

interface Scene {
  name: string;
  /** Where it is missing, the scene is left out. */
  needs?: string;
  play(stage: Stage): Promise<void>;
}

/** What scenes work with. */
interface Stage {
  ip(words: string): void;
  /** Sends a message with a long sound, once an earlier one is silent at its devices; resolves with its id. */
  send(...devices: Device[]): Promise<string>;
  /** The sound arrives there now; broken otherwise. */
  plays(...ears: Ear[]): Promise<void>;
  /** The sound does not arrive there. */
  silent(...ears: Ear[]): Promise<void>;
  /** Ends the fault by these commands and measures until the sound is back there. */
  restore(commands: readonly string[], ...ears: Ear[]): Promise<void>;
  /** Health shows the fault soon. */
  isRed(): Promise<void>;
  /** The delivery has this level, or its reason has these words. */
  delivery(id: string, device: Device, expected: { levels: readonly string[]; reason?: RegExp }): Promise<void>;
  /** The DSCP that packets to a port arrive with on `lan0` while `meanwhile` runs. */
  marks(meanwhile: () => Promise<void>): Promise<Record<string, number[]>>;
  broken(words: string): void;
  /** The address that the daemon says multicast leaves from. */
  leavesFrom(address: string): Promise<void>;
  end(id: string): Promise<void>;
}

const NOT_SENT = { levels: ["planned", "failed", "expired"], reason: /No network route to|Network unreachable/ };

/** DSCP values. @source RFC 4594 §3 */
const [EXPEDITED_FORWARDING, CLASS_SELECTOR_3] = [46, 24];
const CAPTURE_S = 3;

/** In this order: the first has no address when the daemon starts. */
const SCENES: readonly Scene[] = [
  {
    name: "late address",
    async play(stage) {
      await stage.isRed();
      const id = await stage.send("A", "sip");
      await pause(FAULT_MS);
      await stage.delivery(id, "A", NOT_SENT);
      await stage.delivery(id, "sip", NOT_SENT);
      await stage.restore(["addr add 10.77.0.1/24 dev eth0"], "a0", "sip");
      await stage.delivery(id, "A", { levels: ["sent"] });
      await stage.delivery(id, "sip", { levels: ["accepted", "playing"] });
      await stage.leavesFrom("10.77.0.1");
      await stage.end(id);
    },
  },
  {
    name: "changed address",
    async play(stage) {
      const id = await stage.send("A", "sip");
      await stage.plays("a0", "sip");
      stage.ip("addr del 10.77.0.1/24 dev eth0");
      await stage.isRed();
      const during = await stage.send("C");
      await pause(FAULT_MS);
      await stage.delivery(during, "C", NOT_SENT);
      await stage.restore(["addr add 10.77.0.5/24 dev eth0"], "a0", "sip", "c0");
      await stage.delivery(during, "C", { levels: ["sent"] });
      await stage.leavesFrom("10.77.0.5");
      await stage.end(id);
      await stage.end(during);
      const after = await stage.send("A", "sip");
      await stage.plays("a0", "sip");
      await stage.end(after);
    },
  },
  {
    name: "replaced address",
    async play(stage) {
      const id = await stage.send("A", "sip");
      await stage.plays("a0", "sip");
      await stage.restore(["addr del 10.77.0.5/24 dev eth0", "addr add 10.77.0.1/24 dev eth0"], "a0", "sip");
      await stage.leavesFrom("10.77.0.1");
      await stage.end(id);
    },
  },
  {
    name: "interface down and up",
    async play(stage) {
      const id = await stage.send("A", "sip");
      await stage.plays("a0", "sip");
      stage.ip("link set eth0 down");
      await stage.isRed();
      const during = await stage.send("C");
      await pause(FAULT_MS);
      await stage.delivery(during, "C", NOT_SENT);
      await stage.restore(["link set eth0 up"], "a0", "sip", "c0");
      await stage.end(id);
      await stage.end(during);
    },
  },
  {
    name: "cable out and in",
    async play(stage) {
      const id = await stage.send("A", "sip");
      await stage.plays("a0", "sip");
      stage.ip("-n lan link set lan0 down");
      await stage.isRed();
      const during = await stage.send("C");
      await pause(FAULT_MS);
      await stage.delivery(during, "C", NOT_SENT);
      await stage.restore(["-n lan link set lan0 up"], "a0", "sip", "c0");
      await stage.end(id);
      await stage.end(during);
    },
  },
  {
    name: "two interfaces",
    async play(stage) {
      stage.ip("addr replace 10.78.0.1/24 dev eth1");
      const id = await stage.send("A", "B");
      await stage.plays("a0", "b1");
      await stage.silent("a1");
      stage.ip("link set eth1 down");
      await stage.isRed();
      const during = await stage.send("D");
      await pause(FAULT_MS);
      await stage.delivery(during, "D", NOT_SENT);
      await stage.plays("a0");
      await stage.restore(["link set eth1 up"], "b1", "c1");
      await stage.end(id);
      await stage.end(during);
    },
  },
  {
    name: "default route moved",
    async play(stage) {
      stage.ip("addr replace 10.78.0.1/24 dev eth1");
      stage.ip("route add default via 10.77.0.9 dev eth0");
      const id = await stage.send("A");
      await stage.plays("a0");
      await stage.restore(["route replace default via 10.78.0.9 dev eth1"], "a1");
      await stage.silent("a0");
      await stage.leavesFrom("10.78.0.1");
      await stage.end(id);
      stage.ip("route del default");
    },
  },
  {
    name: "multicast route missing",
    async play(stage) {
      const id = await stage.send("A");
      await stage.plays("a0");
      stage.ip("route add unreachable 239.0.0.0/8");
      await stage.isRed();
      const during = await stage.send("C");
      await pause(FAULT_MS);
      await stage.silent("a0", "c0");
      await stage.delivery(during, "C", { levels: NOT_SENT.levels, reason: /No network route to 239\.1\.2\.5/ });
      await stage.restore(["route del unreachable 239.0.0.0/8"], "a0", "c0");
      await stage.end(id);
      await stage.end(during);
    },
  },
  {
    name: "packets are marked",
    needs: "nft",
    async play(stage) {
      const rules = join(REPOSITORY_ROOT, "systemd/carillon-marking.nft");
      execFileSync("nft", ["-D", `CARILLON_USER=${process.getuid?.() ?? 0}`, "-f", rules]);
      const marks = await stage.marks(async () => {
        const id = await stage.send("A", "sip");
        await stage.plays("a0", "sip");
        await stage.end(id);
      });
      const expected = { [PORT]: [EXPEDITED_FORWARDING], 40000: [EXPEDITED_FORWARDING], 5060: [CLASS_SELECTOR_3] };
      for (const [port, values] of Object.entries(expected))
        if (JSON.stringify(marks[port]) !== JSON.stringify(values))
          stage.broken(`packets to port ${port} are marked ${JSON.stringify(marks[port])}, not ${values}`);
    },
  },
  {
    name: "address lost while a call is placed",
    async play(stage) {
      const id = await stage.send("sip");
      // Multicast may have another way.
      stage.ip("addr flush dev eth0");
      await pause(FAULT_MS);
      await stage.restore(["addr add 10.77.0.7/24 dev eth0"], "sip");
      await stage.delivery(id, "sip", { levels: ["accepted", "playing"] });
      await stage.end(id);
    },
  },
];

/** Names of all scenes that this machine can play, in order. */
export const NETWORK_SCENES: readonly string[] = SCENES.filter(({ needs }) => !needs || present(needs)).map(
  ({ name }) => name,
);

/**
 * Changes the network under a daemon, scene by scene: needs the network of this process to be its own (`reexecInNamespace`).
 * This process and the daemon are the machine; the receivers are in namespaces at the other end of its interfaces. With `isBlind` the daemon's network
 * watch is switched off. `names` must begin with the first scene.
 */
export async function changeNetwork(
  names: readonly string[],
  isBlind: boolean,
  say: (progress: string) => void,
): Promise<NetworkRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-network-"));
  prepareNetworks();
  const ears = await startReceivers();
  let daemon: RunningDaemon | null = null;
  try {
    const dataDir = join(folder, "data");
    const { token } = await runInit(dataDir);
    daemon = await startDaemon(dataDir, folder, isBlind);
    const api = createApiClient(daemon.url, token);
    await api.put(`/extensions/${extensionIdOf("sip")}`, { disabled: false });
    await registerDevices(api, Object.values(DEVICES));
    const groups = await createGroups(api);
    const results: NetworkSceneResult[] = [];
    for (const scene of SCENES.filter(({ name }) => names.includes(name))) {
      const result: NetworkSceneResult = { scene: scene.name, resumedMs: {}, redMs: null, greenMs: null, broken: [] };
      const stage = createStage({ api, groups, dataDir, ears, result });
      await scene.play(stage).catch((error: Error) => result.broken.push(`it broke off: ${error.stack}`));
      results.push(result);
      say(`${scene.name}: ${result.broken.length === 0 ? "kept" : `BROKEN: ${result.broken.join("; ")}`}`);
    }
    const resumed = results.flatMap(({ resumedMs }) => Object.values(resumedMs));
    const broken = results.flatMap(({ scene, broken: each }) => each.map((words) => `${scene}: ${words}`));
    if (broken.length > 0) say(daemon.log());
    return { results, worstResumeMs: resumed.includes(null) ? null : Math.max(-1, ...(resumed as number[])), broken };
  } finally {
    await daemon?.end("SIGTERM");
    ears.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The figures of all scenes as a table. */
export function networkTable(results: readonly NetworkSceneResult[]): string {
  const shown = (ms: number | null): string => (ms === null ? "-" : String(ms));
  const rows = results.map(({ scene, resumedMs, redMs, greenMs, broken }) => [
    scene,
    Object.entries(resumedMs)
      .map(([ear, ms]) => `${ear} ${ms === null ? "never" : ms}`)
      .join(", "),
    shown(redMs),
    shown(greenMs),
    broken.length === 0 ? "kept" : "BROKEN",
  ]);
  const all = [["scene", "sound back after, ms", "red, ms", "green, ms", ""], ...rows];
  const widths = all[0]?.map((_, at) => Math.max(...all.map((row) => row[at]?.length ?? 0))) ?? [];
  return all
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Networks of the machine: its interface, the namespace at the other end, the interface and address there. */
const LANS = [
  { own: "eth0", lan: "lan", other: "lan0", address: "10.77.0.9" },
  { own: "eth1", lan: "voice", other: "lan1", address: "10.78.0.9" },
] as const;

function prepareNetworks(): void {
  // Names of namespaces are files there; they must not be the machine's.
  execFileSync("mount", ["-t", "tmpfs", "none", "/run"]);
  mkdirSync("/run/netns");
  ip("link set lo up");
  for (const { own, lan, other, address } of LANS) {
    ip(`netns add ${lan}`);
    ip(`-n ${lan} link set lo up`);
    ip(`link add ${own} type veth peer name ${other} netns ${lan}`);
    ip(`link set ${own} up`);
    ip(`-n ${lan} link set ${other} up`);
    ip(`-n ${lan} addr add ${address}/24 dev ${other}`);
  }
}

function ip(words: string): void {
  execFileSync("ip", words.split(" "), { stdio: "pipe" });
}

/** Beside this file, as source or compiled. */
function programOf(name: string): string {
  return fileURLToPath(new URL(`${name}${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url));
}

interface Receivers {
  /** Time of the last packet there, monotonic ms; 0 before. */
  lastAt(ear: Ear): number;
  close(): void;
}

async function startReceivers(): Promise<Receivers> {
  const last = new Map<string, number>();
  const children: ChildProcess[] = [];
  await Promise.all(
    LANS.map(async ({ lan, address }) => {
      const joins = Object.values(EARS).filter((ear) => ear.includes(address));
      const args = joins.map((ear) => (ear.startsWith("sip ") ? `sip:${address}` : `${ear.replace(" ", ":")}:${PORT}`));
      const program = [process.execPath, programOf("./network-speaker-server"), ...args];
      const child = spawn("nsenter", [`--net=/run/netns/${lan}`, ...program], { stdio: ["ignore", "pipe", "inherit"] });
      children.push(child);
      let joined = 0;
      await new Promise<void>((done, failed) => {
        child.once("exit", (code) => failed(new Error(`the receivers ended with ${code}`)));
        createInterface({ input: child.stdout as NodeJS.ReadableStream }).on("line", (line) => {
          const { heard, joined: isJoin } = JSON.parse(line) as { heard?: string; joined?: string };
          if (heard !== undefined) last.set(heard, performance.now());
          if (isJoin !== undefined && ++joined === args.length) done();
        });
      });
    }),
  );
  return {
    lastAt: (ear) => last.get(EARS[ear]) ?? 0,
    close: () => {
      for (const child of children) child.kill("SIGKILL");
    },
  };
}

function startDaemon(dataDir: string, folder: string, isBlind: boolean): Promise<RunningDaemon> {
  const config = join(folder, "carillon.yaml");
  writeFileSync(config, JSON.stringify({ backups: { schedule: null }, log: { level: "warn" } }));
  if (!isBlind) return spawnDaemon(["serve", "--data", dataDir, "--config", config, "--listen", "127.0.0.1:0"]);
  return spawnDaemon([dataDir, config], {}, [], programOf("./network-blind-server"));
}

async function createGroups(api: ApiClient): Promise<Record<Device, string>> {
  const groups: Partial<Record<Device, string>> = {};
  for (const name of Object.keys(DEVICES) as Device[]) {
    const filters = [{ attribute: "Description", comparison: "EQUALS", value: DEVICES[name].description }];
    const group = await api.post<{ id: string }>("/device-groups", { name, filters });
    groups[name] = group.id;
  }
  return groups as Record<Device, string>;
}

interface StageParts {
  api: ApiClient;
  groups: Record<Device, string>;
  dataDir: string;
  ears: Receivers;
  result: NetworkSceneResult;
}

function createStage({ api, groups, dataDir, ears, result }: StageParts): Stage {
  const breaks = (words: string): void => void result.broken.push(words);
  const troubles = async (): Promise<{ reason: string }[]> => {
    const state = await daemonState(dataDir);
    return state.reasons.filter(({ reason }) => /multicast|network|route/i.test(reason));
  };
  /** Ms until `isSo`; null after `maxMs`. */
  const until = async (isSo: () => boolean | Promise<boolean>, maxMs: number): Promise<number | null> => {
    const began = performance.now();
    while (performance.now() - began < maxMs) {
      if (await isSo()) return Math.round(performance.now() - began);
      await pause(POLL_MS);
    }
    return null;
  };
  const hearsAfter = (ear: Ear, since: number, maxMs: number): Promise<number | null> =>
    until(() => ears.lastAt(ear) > since, maxMs);
  return {
    ip,
    async send(...devices) {
      const which = devices.flatMap((name) => EARS_OF[name]);
      const isSilent = () => which.every((ear) => ears.lastAt(ear) < performance.now() - PACKET_SILENCE_MS);
      if ((await until(isSilent, MAX_SILENCE_WAIT_MS)) === null) breaks("the message before does not fall silent");
      const form = new FormData();
      form.append("subject", `Network ${result.scene}`);
      form.append("alertTone", "silent");
      form.append("expiration", "120");
      for (const name of devices) form.append("deviceGroupIds", groups[name]);
      form.append("audio", new Blob([Uint8Array.from(recording())], { type: "audio/wav" }), "sound.wav");
      return (await api.post<{ id: string }>("/notifications", form)).id;
    },
    async plays(...which) {
      for (const ear of which)
        if ((await hearsAfter(ear, performance.now(), 5_000)) === null) breaks(`${ear} hears nothing`);
    },
    async silent(...which) {
      const since = performance.now() + PACKET_SILENCE_MS;
      await pause(2 * PACKET_SILENCE_MS);
      for (const ear of which) if (ears.lastAt(ear) > since) breaks(`${ear} hears it all the same`);
    },
    async restore(commands, ...which) {
      for (const words of commands) ip(words);
      const since = performance.now();
      const green = until(async () => (await troubles()).length === 0, MAX_HEALTH_MS);
      // The last packet before must not count where the fault is the change itself.
      await Promise.all(
        which.map(async (ear) => {
          const ms = await hearsAfter(ear, since + POLL_MS, 3 * MAX_RESUME_MS);
          result.resumedMs[ear] = ms;
          if (ms === null || ms > MAX_RESUME_MS) breaks(`${ear} hears it after ${ms} ms`);
        }),
      );
      result.greenMs = await green;
      if (result.greenMs === null) breaks(`health stays ${JSON.stringify(await troubles())}`);
    },
    async isRed() {
      result.redMs = await until(async () => (await troubles()).length > 0, MAX_HEALTH_MS);
      if (result.redMs === null) breaks("health stays green while nothing can leave");
    },
    async delivery(id, device, { levels, reason }) {
      const path = `/notifications/${id}/devices?limit=100`;
      let found: { level: string; reason: string | null } | undefined;
      const fits = async (): Promise<boolean> => {
        const { data } = await api.get<{ data: { name: string; level: string; reason: string | null }[] }>(path);
        found = data.find(({ name }) => name === DEVICES[device].description);
        return !!found && levels.includes(found.level) && (reason === undefined || reason.test(found.reason ?? ""));
      };
      // The ledger is written after the fact.
      if ((await until(fits, 1_000)) === null) breaks(`${device} is ${JSON.stringify(found)}`);
    },
    async marks(meanwhile) {
      const program = ["python3", join(REPOSITORY_ROOT, "test/faults/packet-marks.py"), "lan0", String(CAPTURE_S)];
      const child = spawn("nsenter", ["--net=/run/netns/lan", ...program], { stdio: ["ignore", "pipe", "inherit"] });
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      await lines.next();
      const [{ value }] = await Promise.all([lines.next(), meanwhile()]);
      return JSON.parse(value as string) as Record<string, number[]>;
    },
    broken: breaks,
    async leavesFrom(address) {
      const fits = async (): Promise<boolean> => (await daemonState(dataDir)).network?.multicast.address === address;
      if ((await until(fits, MAX_HEALTH_MS)) === null) breaks(`the daemon does not say that it sends from ${address}`);
    },
    async end(id) {
      await api.post(`/notifications/${id}/activities`, { type: "abort" });
    },
  };
}

async function daemonState(dataDir: string): Promise<DaemonState> {
  const response = await sendControlCommand(dataDir, { order: "state", args: {} });
  return response?.result as DaemonState;
}

function recording(): Buffer {
  const rateHz = 8_000;
  const samples = Float32Array.from(
    { length: AUDIO_S * rateHz },
    (_, n) => 0.3 * Math.sin((2 * Math.PI * 440 * n) / rateHz),
  );
  return wavFile({ rateHz, channels: 1, bits: 16 }, sampleBytes(samples, 16));
}
