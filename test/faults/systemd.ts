import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { sendOrder } from "../../src/app/control-socket.ts";
import { createApiClient } from "../../src/cli/api-client.ts";
import { registerDevices } from "../../src/cli/register-devices.ts";
import { initialise, ROOT, type RunningCampus, startCampus } from "../support/product.ts";

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
}

/** A user id that nothing on a machine has by accident. */
const USER_ID = 64_231;
const PORT = 18_097;
const SETTINGS = `listen: 127.0.0.1:${PORT}
network: {allowedTargets: [127.0.0.0/8], multicastInterface: 127.0.0.1}
plugins: {ip-phones: {listen: {auth: {host: 127.0.0.1, port: ${PORT + 1}}}}}
`;

/**
 * Runs the service as it is shipped under a systemd of its own (PID 1 of a namespace, hardening and watchdog in force),
 * sends a broadcast through it, lets it hang and kills it. Needs root. Throws an Error where systemd can't be run.
 */
export async function underSystemd(say: (progress: string) => void): Promise<SystemdRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-systemd-"));
  chmodSync(folder, 0o755);
  const dataDir = join(folder, "state");
  const { token } = await initialise(dataDir);
  giveTo(dataDir, USER_ID);
  writeUnits(folder);
  const campus = await startCampus([
    "--phones",
    "20",
    "--zones",
    "2",
    "--auth-url",
    `http://127.0.0.1:${PORT + 1}/auth`,
  ]);
  const began = performance.now();
  const machine = startMachine(folder);
  try {
    await answering(token, 30_000);
    const readyMs = Math.round(performance.now() - began);
    say(`ready after ${readyMs} ms`);
    const reached = await broadcast(token, campus.devices);
    say(`${reached} of ${campus.devices.length} devices reached`);
    const hangMs = await workingAfter("SIGSTOP", token);
    say(`hang: works again after ${hangMs} ms`);
    const crashMs = await workingAfter("SIGKILL", token);
    say(`crash: works again after ${crashMs} ms`);
    const { result } = (await sendOrder(dataDir, { order: "runs", args: {} })) as {
      result: { ending: string | null }[];
    };
    const endings = result.map(({ ending }) => ending).reverse();
    return { readyMs, hangMs, crashMs, endings, reached, devices: campus.devices.length };
  } catch (error) {
    say(machine.log());
    throw error;
  } finally {
    await campus.end("SIGTERM");
    await machine.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The shipped unit, and nothing else that starts: what sets up a machine would do so to this one. */
function writeUnits(folder: string): void {
  const units = join(folder, "units");
  mkdirSync(units);
  cpSync(join(ROOT, "systemd/carillon.service"), join(units, "carillon.service"));
  writeFileSync(join(units, "alone.target"), "[Unit]\nDefaultDependencies=no\nRequires=carillon.service\n");
  for (const masked of ["sysinit.target", "basic.target"])
    writeFileSync(join(units, masked), `[Unit]\nDescription=${masked}\nDefaultDependencies=no\n`);
  mkdirSync(join(folder, "settings"), { mode: 0o755 });
  writeFileSync(join(folder, "settings/carillon.yaml"), SETTINGS);
  for (const file of ["passwd", "group"]) {
    const line = file === "passwd" ? `carillon:x:${USER_ID}:${USER_ID}::/:/bin/false\n` : `carillon:x:${USER_ID}:\n`;
    writeFileSync(join(folder, file), `${readFileSync(`/etc/${file}`, "utf8")}${line}`);
  }
}

/**
 * The machine that systemd sees: the program where it is installed, its data, its user, its units; all folders that it
 * could write to are its own, and everything else is read-only.
 */
function script(folder: string): string {
  return `set -e
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs tmpfs /mnt
mkdir -p /mnt/etc /mnt/lib/carillon /mnt/upper /mnt/work
mount --bind ${folder}/state /mnt/lib/carillon
cp -a /etc/. /mnt/etc/
cp ${folder}/passwd ${folder}/group /mnt/etc/
rm -rf /mnt/etc/systemd/system /mnt/etc/carillon
cp -r ${folder}/units /mnt/etc/systemd/system
cp -r ${folder}/settings /mnt/etc/carillon
mount -t tmpfs tmpfs /opt
mkdir /opt/carillon
mount --bind ${ROOT} /opt/carillon
mount -o remount,bind,ro /opt/carillon
[ ${process.execPath} = /usr/bin/node ] || mount --bind ${process.execPath} /usr/bin/node
mount --rbind /mnt/lib /var/lib
mount --bind /mnt/etc /etc
for own in /tmp /var/tmp /run /var/log /var/cache; do mount -t tmpfs tmpfs $own; done
chmod 1777 /tmp /var/tmp
mount -o remount,bind,ro /
mount --make-rshared /
exec /lib/systemd/systemd --system --unit=alone.target --log-target=console --log-level=info --show-status=no
`;
}

function startMachine(folder: string): { log(): string; stop(): Promise<void> } {
  const child: ChildProcess = spawn(
    "unshare",
    ["--fork", "--pid", "--mount", "--uts", "--ipc", "--cgroup", "--kill-child", "bash", "-c", script(folder)],
    { stdio: ["ignore", "ignore", "pipe"], env: { PATH: process.env.PATH ?? "", container: "carillon" } },
  );
  let log = "";
  child.stderr?.on("data", (part) => {
    log = `${log}${part}`.slice(-20_000);
  });
  const closed = once(child, "close");
  return {
    log: () => log,
    async stop() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}

/** Resolves once the API answers a good request. */
async function answering(token: string, mostMs: number): Promise<void> {
  const until = performance.now() + mostMs;
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

async function broadcast(token: string, devices: RunningCampus["devices"]): Promise<number> {
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
