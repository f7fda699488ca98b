import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { bootSystemd } from "./systemd-machine.ts";

/** What became of the Debian package on a clean machine. */
export interface PackageRun {
  packageBytes: number;
  /** From `dpkg -i` to the first page of the console, ms. */
  firstPageMs: number;
  /** How long `dpkg -i` of the next version took, with backup and ten seconds of good health, ms. */
  upgradeMs: number;
  /** What was not as promised; empty when all was kept. */
  broken: string[];
}

type Machine = ReturnType<typeof bootSystemd>;

const MIRROR = "http://deb.debian.org/debian";
const DATA = "/var/lib/carillon";
const ADMIN = { email: "head@example.org", password: "correct horse battery", name: "Head" };

/** Versions of the story: the first is built, the others are made of it. */
const FIRST = "1.0.0";
const [SECOND, THIRD, ILL] = ["1.1.0", "1.2.0", "1.3.0"];

/**
 * Builds the package and installs, upgrades, undoes, breaks and purges it in a clean Debian stable whose process 1 is systemd,
 * in separate namespaces. Needs root, mmdebstrap and a Debian mirror.
 */
export async function installPackages(say: (progress: string) => void): Promise<PackageRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-package-"));
  chmodSync(folder, 0o755);
  try {
    const root = debianRoot(folder, say);
    const packages = buildVersions(folder, say);
    for (const [version, file] of packages) copyFileSync(file, join(root, "root", `${version}.deb`));
    const machine = bootSystemd(bootScript(root), ["--net"]);
    try {
      await untilSucceeds(machine, ["systemctl", "is-active", "multi-user.target"], 60_000);
      const packageBytes = statSync(packages.get(FIRST) ?? "").size;
      return { packageBytes, ...(await playStory(machine, say)) };
    } catch (error) {
      say(machine.log());
      throw error;
    } finally {
      await machine.stop();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A minimal Debian stable with systemd and nothing of Carillon's. */
function debianRoot(folder: string, say: (progress: string) => void): string {
  say("making a clean Debian …");
  const root = join(folder, "root");
  const options = ["--quiet", "--variant=minbase", "--include=systemd,systemd-sysv,dbus,tzdata"];
  execFileSync("mmdebstrap", [...options, "--format=directory", "stable", root, MIRROR], { stdio: ["ignore", 2, 2] });
  return root;
}

/** The package of the tree, hardly compressed, and its later versions. */
function buildVersions(folder: string, say: (progress: string) => void): Map<string, string> {
  say("building the package …");
  const out = join(folder, "packages");
  const options = ["--only", "deb", "--level", "0", "--version-number", FIRST, "--to", out];
  execFileSync(process.execPath, [join(REPOSITORY_ROOT, ".ci/package.mjs"), ...options], { stdio: ["ignore", 2, 2] });
  const file = readdirSync(out).find((name) => name.endsWith(".deb")) ?? "";
  const built = new Map([[FIRST, join(out, file)]]);
  const work = join(folder, "work");
  execFileSync("dpkg-deb", ["--raw-extract", join(out, file), work]);
  let before = FIRST;
  for (const version of [SECOND, THIRD, ILL]) {
    for (const name of ["DEBIAN/control", "usr/lib/carillon/package.json"]) {
      const text = readFileSync(join(work, name), "utf8");
      writeFileSync(join(work, name), text.replace(before, version));
    }
    before = version;
    if (version === ILL) writeFileSync(join(work, "usr/lib/carillon/dist/src/main.js"), "process.exit(1);\n");
    const target = join(out, `${version}.deb`);
    execFileSync("dpkg-deb", ["--root-owner-group", "-Znone", "--build", work, target]);
    built.set(version, target);
  }
  rmSync(work, { recursive: true });
  return built;
}

/** Boots the Debian in `root`, in a network whose only other end is an interface that swallows all packets. */
function bootScript(root: string): string {
  return `set -e
mount --make-rprivate /
mount --bind ${root} ${root}
mount -t proc proc ${root}/proc
mount -t sysfs -o ro sysfs ${root}/sys
mount -t cgroup2 cgroup2 ${root}/sys/fs/cgroup
mount --rbind /dev ${root}/dev
mount -t tmpfs tmpfs ${root}/run
mount -t tmpfs -o mode=1777 tmpfs ${root}/tmp
ip link set lo up
if ip link add lan type dummy; then
  ip address add 10.97.0.1/24 dev lan
  ip link set lan up
  ip route add 224.0.0.0/4 dev lan
fi
cd ${root}
mkdir -p .before
pivot_root . .before
umount -l /.before
rmdir /.before
mount --make-rshared /
exec /usr/lib/systemd/systemd --system --unit=multi-user.target --log-target=console --log-level=warning --show-status=no
`;
}

async function playStory(machine: Machine, say: (progress: string) => void): Promise<Omit<PackageRun, "packageBytes">> {
  const broken: string[] = [];
  const before = await filesOf(machine);
  const installing = performance.now();
  await install(machine, FIRST);
  await untilSucceeds(machine, pageCommand(), 120_000);
  const firstPageMs = Math.round(performance.now() - installing);
  say(`first page ${firstPageMs} ms after dpkg -i`);
  const doctor = await machine.run("carillon", "doctor", "--data", DATA, "--config", "/etc/carillon/carillon.yaml");
  if (!/^ok +Daemon: 1\.0\.0 at https:/m.test(doctor.output)) broken.push(`doctor: ${doctor.output}`);
  broken.push(...(await setUp(machine)));
  const expectState = async (when: string, version: string, tokens: readonly string[]): Promise<void> => {
    await untilSucceeds(machine, pageCommand(), 240_000);
    const { output: running } = await machine.run("carillon", "--version");
    if (running !== version) broken.push(`${when}: ${running} is current, not ${version}`);
    const { output: listed } = await machine.run("carillon", "token", "list", "--data", DATA);
    for (const name of ["early", "late"])
      if (listed.includes(name) !== tokens.includes(name)) broken.push(`${when}: token ${name}: ${listed}`);
  };
  const upgrading = performance.now();
  await install(machine, SECOND);
  const upgradeMs = Math.round(performance.now() - upgrading);
  say(`upgraded after ${upgradeMs} ms`);
  await expectState("after the upgrade", SECOND, ["early"]);
  broken.push(...(await createToken(machine, "late")));
  const refused = await machine.run("carillon", "upgrade-rollback", "--data", DATA);
  if (refused.code === 0 || !refused.output.includes("can't use the data"))
    broken.push(`an older version got the data of a newer one: ${refused.output}`);
  await expectState("after a refused rollback", SECOND, ["early", "late"]);
  await install(machine, THIRD);
  const ill = await machine.run("dpkg", "--install", `/root/${ILL}.deb`);
  if (ill.code === 0) broken.push("dpkg does not report a version that was rolled back");
  await expectState("after a version that does not start", THIRD, ["early", "late"]);
  say("rolled back by itself");
  const removed = await machine.run("dpkg", "--remove", "carillon");
  if (removed.code !== 0) broken.push(`removing failed: ${removed.output}`);
  const { code: kept } = await machine.run("test", "-e", `${DATA}/carillon.db`);
  if (kept !== 0) broken.push("removing the package removed the data");
  const purged = await machine.run("dpkg", "--purge", "carillon");
  if (purged.code !== 0) broken.push(`purging failed: ${purged.output}`);
  const left = (await filesOf(machine)).filter((path) => !before.includes(path));
  if (left.length > 0) broken.push(`purging left ${left.slice(0, 20).join(" ")}`);
  const { code: user } = await machine.run("getent", "passwd", "carillon");
  if (user === 0) broken.push("purging left the user");
  return { firstPageMs, upgradeMs, broken };
}

/** Installs a version with dpkg. Throws an Error with dpkg's output when that fails. */
async function install(machine: Machine, version: string): Promise<void> {
  const { code, output } = await machine.run("dpkg", "--install", `/root/${version}.deb`);
  if (code !== 0) throw new Error(`dpkg --install of ${version} failed: ${output}`);
}

/** Runs a script on the runtime of the package; the certificate is of the appliance's own authority. */
function nodeCommand(script: string): string[] {
  return ["env", "NODE_TLS_REJECT_UNAUTHORIZED=0", "/opt/carillon/node/bin/node", "-e", script];
}

/** Exit code 0 once the console's page is served. */
function pageCommand(): string[] {
  const ask = `fetch("https://127.0.0.1:8443/", { signal: AbortSignal.timeout(5_000) })`;
  return nodeCommand(`${ask}.then((r) => process.exit(r.status === 200 ? 0 : 1), () => process.exit(1))`);
}

/** Makes the first administrator with the one-time code, as the browser does, and a token. */
async function setUp(machine: Machine): Promise<string[]> {
  const { output: code } = await machine.run("cat", `${DATA}/setup-code`);
  const request = {
    method: "POST",
    headers: { "content-type": "application/json", origin: "https://127.0.0.1:8443" },
    body: JSON.stringify({ ...ADMIN, code }),
  };
  const ask = `fetch("https://127.0.0.1:8443/api/setup", ${JSON.stringify(request)})`;
  const made = await machine.run(...program(nodeCommand(`${ask}.then((r) => process.exit(r.ok ? 0 : 1))`)));
  return made.code === 0 ? createToken(machine, "early") : [`the first administrator can't be made: ${made.output}`];
}

async function createToken(machine: Machine, name: string): Promise<string[]> {
  const options = ["--data", DATA, "--user", ADMIN.email, "--name", name];
  const { code, output } = await machine.run("carillon", "token", "create", ...options);
  return code === 0 ? [] : [`token ${name} can't be made: ${output}`];
}

/** Every path of the machine, without what other programs write on the way. */
async function filesOf(machine: Machine): Promise<string[]> {
  const { output } = await machine.run("find", "/", "-xdev", "-not", "-path", "/var/log/*", "-not", "-path", "/root/*");
  return output
    .split("\n")
    .filter(
      (path) =>
        !/^\/(etc\/[a-z]+-$|var\/lib\/(dpkg|systemd)\/|var\/tmp\/systemd-private-|var\/cache\/ldconfig)/.test(path),
    );
}

async function untilSucceeds(machine: Machine, command: readonly string[], maxMs: number): Promise<void> {
  const until = performance.now() + maxMs;
  for (;;) {
    const { code, output } = await machine.run(...program(command)).catch(() => ({ code: 1, output: "not booted" }));
    if (code === 0) return;
    if (performance.now() > until) throw new Error(`${command.slice(0, 2).join(" ")} did not succeed: ${output}`);
    await pause(200);
  }
}

function program([first = "", ...others]: readonly string[]): [string, ...string[]] {
  return [first, ...others];
}
