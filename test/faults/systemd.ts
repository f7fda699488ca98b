import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { createApiClient } from "../../src/api-client/api-client.ts";
import { registerDevices } from "../../src/api-client/register-devices.ts";
import { packUpgrade } from "../../src/ops/upgrade/upgrade-bundle.ts";
import { sendControlCommand } from "../../src/wiring/control-socket.ts";
import {
  LOOPBACK_SETTINGS,
  type RunningSimulator,
  runInit,
  spawnSimulatorProcess,
} from "../support/carillon-process.ts";
import { copyVersion, createVersionSigner } from "../support/version-builder.ts";
import { type SystemdMachine, startSystemdMachine, USER_ID } from "./systemd-machine.ts";

/** What a real systemd made of the service. */
export interface SystemdRun {
  /** From systemd's start to messages that can be sent, ms. */
  readyMs: number;
  /** From a hang (SIGSTOP) and from a crash (SIGKILL) to messages that can be sent again, ms. */
  hangMs: number;
  crashMs: number;
  /** How the runs before were written down, oldest first. */
  endings: (string | null)[];
  /** Devices that the service's broadcast was proven to play on, or sent to, of how many. */
  reached: number;
  devices: number;
  /** What was not as it was promised, in words; empty when all was kept. */
  broken: string[];
}

const PORT = 18_097;
const OLD = "1.0.0";
/** Priority of the thread that sends audio. */
const AUDIO_NICE = -20;

/**
 * Upgrades, in this order: one that is well, one that ends at once, and one that runs, changes the data and dies after a
 * while. The last two must make way.
 */
const UPGRADES = [
  { version: "1.1.0", illness: "", stays: true },
  { version: "1.2.0", illness: "process.exit(1);\n", stays: false },
  { version: "1.3.0", illness: "setTimeout(() => process.kill(process.pid, 'SIGKILL'), 8_000);\n", stays: false },
] as const;

/**
 * Runs the service as it is shipped under a systemd of its own (PID 1 of a namespace, hardening, watchdog and credential
 * in force), sends a broadcast through it, lets it hang and kills it, takes the further backup and upgrades it. Needs root.
 * Throws an Error where systemd can't be run.
 */
export async function underSystemd(say: (progress: string) => void): Promise<SystemdRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-systemd-"));
  chmodSync(folder, 0o755);
  const dataDir = join(folder, "state");
  const { token } = await runInit(dataDir);
  const key = readFileSync(join(dataDir, "secret-key"));
  rmSync(join(dataDir, "secret-key"));
  giveTo(dataDir, USER_ID);
  const settings = await prepareVersions(folder);
  const authUrl = `http://127.0.0.1:${PORT + 1}/auth`;
  const campus = await spawnSimulatorProcess(["--phones", "20", "--zones", "2", "--auth-url", authUrl]);
  const began = performance.now();
  const machine = startSystemdMachine({ folder, settings, key, version: OLD });
  try {
    await answering(token, 30_000);
    const readyMs = Math.round(performance.now() - began);
    say(`ready after ${readyMs} ms`);
    const refusal = priorityRefusal(dataDir);
    const reached = await broadcast(token, campus.devices);
    say(`${reached} of ${campus.devices.length} devices reached`);
    const hangMs = await workingAfter("SIGSTOP", token);
    say(`hang: works again after ${hangMs} ms`);
    const crashMs = await workingAfter("SIGKILL", token);
    say(`crash: works again after ${crashMs} ms`);
    const { result } = (await sendControlCommand(dataDir, { order: "runs", args: {} })) as {
      result: { ending: string | null }[];
    };
    const endings = result.map(({ ending }) => ending).reverse();
    const broken = [...(await furtherBackup(machine)), ...(await upgrades(machine, token, say))];
    if (refusal !== null) broken.push(`the thread that sends audio could not raise its priority: ${refusal}`);
    if (existsSync(join(dataDir, "secret-key"))) broken.push("the secret key lies in the data");
    return { readyMs, hangMs, crashMs, endings, reached, devices: campus.devices.length, broken };
  } catch (error) {
    say(machine.log());
    throw error;
  } finally {
    await campus.end("SIGTERM");
    await machine.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Lays out the installed version and the signed upgrades; gives the settings, which trust their maker. */
async function prepareVersions(folder: string): Promise<string> {
  copyVersion(join(folder, "versions", OLD), OLD);
  mkdirSync(join(folder, "bundles"));
  const { pem, trusted } = createVersionSigner();
  for (const { version, illness } of UPGRADES) {
    const made = copyVersion(join(folder, "making"), version);
    if (illness !== "") {
      renameSync(join(made, "dist/src/main.js"), join(made, "dist/src/well.js"));
      writeFileSync(join(made, "dist/src/main.js"), `${illness}await import("./well.js");\n`);
    }
    await packUpgrade(made, pem, join(folder, "bundles", `${version}.tgz`));
    rmSync(made, { recursive: true });
  }
  return `listen: 127.0.0.1:${PORT}
${LOOPBACK_SETTINGS}plugins: {ip-phones: {listen: {auth: {host: 127.0.0.1, port: ${PORT + 1}}}}}
trust: {upgrades: ["${trusted}"]}
`;
}

/** The shipped timer's backup onto another disk. */
async function furtherBackup(machine: SystemdMachine): Promise<string[]> {
  const { code, output } = await machine.run("systemctl", "start", "carillon-backup.service");
  if (code !== 0) return [`the further backup failed: ${output}`];
  const { output: files } = await machine.run("ls", "/var/backups/carillon");
  return /^carillon-.*\.tar$/.test(files) ? [] : [`the further backup is not there: ${files}`];
}

/** Installs each of the upgrades and looks which version runs then, and whether users made before are still there. */
async function upgrades(machine: SystemdMachine, token: string, say: (progress: string) => void): Promise<string[]> {
  const api = createApiClient(`http://127.0.0.1:${PORT}`, token);
  const broken: string[] = [];
  let runs: string = OLD;
  for (const { version, stays } of UPGRADES) {
    const { id } = await api.post<{ id: string }>("/users", { name: `Before ${version}`, type: "anonymous" });
    const paths = ["--data", "/var/lib/carillon", "--config", "/etc/carillon/carillon.yaml"];
    const began = performance.now();
    const { code, output } = await machine.carillon("upgrade", `/mnt/bundles/${version}.tgz`, ...paths);
    if (stays) runs = version;
    say(`${output}\n${version}: ${code} after ${Math.round(performance.now() - began)} ms`);
    await answering(token, 30_000);
    const { version: found } = (await fetch(`http://127.0.0.1:${PORT}/api/health`).then((a) => a.json())) as {
      version: string;
    };
    if (found !== runs) broken.push(`after ${version} it is ${found} that runs, not ${runs}`);
    if ((code === 0) !== stays) broken.push(`the upgrade to ${version} ended with ${code}`);
    if ((await api.get<{ id: string }>(`/users/${id}`)).id !== id) broken.push(`a user is gone after ${version}`);
  }
  return broken;
}

/** Resolves once the API answers a good request. */
async function answering(token: string, maxMs: number): Promise<void> {
  const until = performance.now() + maxMs;
  for (;;) {
    const asking = { headers: { authorization: `Bearer ${token}` }, signal: AbortSignal.timeout(500) };
    const status = await fetch(`http://127.0.0.1:${PORT}/api/v1/session`, asking).then(
      (answer) => answer.status,
      () => 0,
    );
    if (status === 200) return;
    if (performance.now() > until) throw new Error("the service does not answer");
    await pause(50);
  }
}

async function workingAfter(signal: "SIGSTOP" | "SIGKILL", token: string): Promise<number> {
  const [pid] = daemons();
  if (pid === undefined) throw new Error("no daemon runs");
  const began = performance.now();
  process.kill(pid, signal);
  while (daemons().includes(pid) && performance.now() - began < 30_000) await pause(20);
  await answering(token, 30_000);
  return Math.round(performance.now() - began);
}

/**
 * Why the audio thread has no high priority; null when it has, or when only this machine's root keeps systemd from raising
 * the limit for it (no CAP_SYS_RESOURCE, as in some containers).
 */
function priorityRefusal(dataDir: string): string | null {
  const [pid = 0] = daemons();
  if (niceValues(pid).includes(AUDIO_NICE)) return null;
  const isLimited = !/^Max nice priority +40 /m.test(readFileSync(`/proc/${pid}/limits`, "utf8"));
  const lines = readFileSync(join(dataDir, "logs/carillon.log"), "utf8").split("\n");
  const refused = lines.findLast((line) => line.includes("streamer.priority_not_raised")) ?? "";
  return isLimited && refused.includes("EACCES") ? null : refused;
}

/** Nice value of each thread. @source proc_pid_stat(5) */
function niceValues(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const line = readFileSync(`/proc/${pid}/task/${thread}/stat`, "utf8");
    // The name in brackets may contain spaces; the nice value is field 19.
    return Number(line.slice(line.lastIndexOf(")") + 2).split(" ")[16]);
  });
}

/** Process ids of the service's user that run `serve`. */
function daemons(): number[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      const owner = /^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, "utf8"))?.[1];
      const line = readFileSync(`/proc/${name}/cmdline`, "utf8").split("\0");
      return Number(owner) === USER_ID && line.includes("serve") ? [Number(name)] : [];
    } catch {
      return [];
    }
  });
}

async function broadcast(token: string, devices: RunningSimulator["devices"]): Promise<number> {
  const api = createApiClient(`http://127.0.0.1:${PORT}`, token);
  await registerDevices(api, devices);
  const group = await api.post<{ id: string }>("/device-groups", { name: "All", filterType: "ACCEPT" });
  const message = { subject: "Under systemd", alertTone: "chime", deviceGroupIds: [group.id] };
  const { id } = await api.post<{ id: string }>("/notifications", message);
  for (let tries = 0; tries < 300; tries++) {
    const { data } = await api.get<{ data: { level: string; endedAt: string | null }[] }>(
      `/notifications/${id}/devices?limit=1000`,
    );
    if (data.length === devices.length && data.every(({ endedAt }) => endedAt !== null))
      return data.filter(({ level }) => level === "playing" || level === "sent").length;
    await pause(100);
  }
  return 0;
}

function giveTo(path: string, userId: number): void {
  chownSync(path, userId, userId);
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isDirectory()) giveTo(join(path, entry.name), userId);
    else chownSync(join(path, entry.name), userId, userId);
  }
}
