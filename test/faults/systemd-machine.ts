import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";

/** A user id that nothing on a machine has by accident. */
export const USER_ID = 64_231;

/** Where the program lies within the machine. */
const VERSIONS = "/opt/carillon-versions";

/** What a machine is made of. */
export interface MachineParts {
  /** Folder of its own; `state` in it has the data. */
  folder: string;
  /** Settings file (YAML). */
  settings: string;
  /** The secret key, which the service gets as its credential. */
  key: Buffer;
  /** The version that is installed, a folder below `versions` in `folder`. */
  version: string;
}

/** A machine with a systemd of its own. */
export interface SystemdMachine {
  log(): string;
  /** Runs a program in it as root and resolves with what it printed and its exit code. */
  run(program: string, ...args: string[]): Promise<{ code: number; output: string }>;
  /** `carillon …` of the installed version. */
  carillon(...args: string[]): Promise<{ code: number; output: string }>;
  stop(): Promise<void>;
}

/** The shipped units with the credential turned on, and nothing else that starts: what sets up a machine would do so to this one. */
function writeUnits({ folder, settings, key, version }: MachineParts): void {
  const units = join(folder, "units");
  mkdirSync(units);
  // The rules of the packet filter would be those of this machine.
  const shipped = readdirSync(join(REPOSITORY_ROOT, "systemd")).filter((name) => !name.startsWith("carillon-marking"));
  for (const name of shipped) {
    const unit = readFileSync(join(REPOSITORY_ROOT, "systemd", name), "utf8").replace(/^#(LoadCredential=)/m, "$1");
    writeFileSync(join(units, name), unit);
  }
  writeFileSync(join(units, "alone.target"), "[Unit]\nDefaultDependencies=no\nRequires=carillon.service\n");
  for (const masked of ["sysinit.target", "basic.target"])
    writeFileSync(join(units, masked), `[Unit]\nDescription=${masked}\nDefaultDependencies=no\n`);
  mkdirSync(join(folder, "settings"), { mode: 0o755 });
  writeFileSync(join(folder, "settings/carillon.yaml"), settings);
  writeFileSync(join(folder, "settings/secret-key"), key, { mode: 0o600 });
  symlinkSync(`versions/${version}`, join(folder, "current"));
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
mkdir -p /mnt/etc /mnt/lib/carillon /mnt/versions /mnt/bundles
mount --bind ${folder}/state /mnt/lib/carillon
mount --bind ${folder}/versions /mnt/versions
mount --bind ${folder}/bundles /mnt/bundles
cp -a /etc/. /mnt/etc/
cp ${folder}/passwd ${folder}/group /mnt/etc/
rm -rf /mnt/etc/systemd/system /mnt/etc/carillon
cp -r ${folder}/units /mnt/etc/systemd/system
cp -r ${folder}/settings /mnt/etc/carillon
mount -t tmpfs tmpfs /opt
mkdir -p ${VERSIONS}/versions ${VERSIONS}/node_modules
cp -P ${folder}/current ${VERSIONS}/current
ln -s ${VERSIONS}/current /opt/carillon
mount --rbind /mnt/versions ${VERSIONS}/versions
mount --bind ${REPOSITORY_ROOT}/node_modules ${VERSIONS}/node_modules
mount -o remount,bind,ro ${VERSIONS}/node_modules
[ ${process.execPath} = /usr/bin/node ] || mount --bind ${process.execPath} /usr/bin/node
mount --rbind /mnt/lib /var/lib
mount --bind /mnt/etc /etc
for own in /tmp /var/tmp /run /var/log /var/cache /var/backups; do mount -t tmpfs tmpfs $own; done
chmod 1777 /tmp /var/tmp
mkdir -m 0700 /var/backups/carillon
chown ${USER_ID}:${USER_ID} /var/backups/carillon
mount -o remount,bind,ro /
mount --make-rshared /
exec /lib/systemd/systemd --system --unit=alone.target --log-target=console --log-level=info --show-status=no
`;
}

/** Starts a machine; needs root. */
export function startSystemdMachine(parts: MachineParts): SystemdMachine {
  writeUnits(parts);
  return {
    ...bootSystemd(script(parts.folder)),
    carillon(...args) {
      return this.run("/usr/bin/node", "/opt/carillon/dist/src/main.js", ...args);
    },
  };
}

/**
 * Runs `boot`, a shell script that ends as systemd, as process 1 of separate namespaces; `apart` names further ones for
 * unshare and nsenter.
 */
export function bootSystemd(boot: string, apart: readonly "--net"[] = []): Omit<SystemdMachine, "carillon"> {
  const kinds = ["--pid", "--mount", "--uts", "--ipc", "--cgroup", ...apart];
  const env = { PATH: process.env.PATH ?? "", container: "carillon" };
  const child: ChildProcess = spawn("unshare", ["--fork", ...kinds, "--kill-child", "bash", "-c", boot], {
    ...{ stdio: ["ignore", "ignore", "pipe"], env },
  });
  let log = "";
  child.stderr?.on("data", (part) => {
    log = `${log}${part}`.slice(-20_000);
  });
  const closed = once(child, "close");
  /** The process that is number 1 within. */
  const first = (): string => readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim();
  return {
    log: () => log,
    run: (program, ...args) =>
      new Promise((resolve) => {
        const into = ["--target", first(), ...kinds, "--wdns=/", program, ...args];
        execFile("nsenter", into, { env, timeout: 240_000, maxBuffer: 64 * 1_048_576 }, (error, stdout, stderr) => {
          resolve({ code: error ? Number(error.code ?? 1) : 0, output: `${stdout}${stderr}`.trim() });
        });
      }),
    async stop() {
      child.kill("SIGKILL");
      await closed;
    },
  };
}
