import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readlinkSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { basename, join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { systemdService } from "../../src/cli/systemd-service.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { pendingUpgradeRequest } from "../../src/ops/upgrade/upgrade-request.ts";
import { installRequestedUpgrade } from "../../src/wiring/install-upgrade.ts";
import { REPOSITORY_ROOT } from "./carillon-process.ts";
import { makeTempDir } from "./temp-dir.ts";
import { copyVersion } from "./version-builder.ts";

/** An appliance that is installed by versions, whose daemon is kept running as systemd does, with root beside it. */
export interface InstalledAppliance {
  /** Folder with `versions` and the link `current`. */
  readonly root: string;
  /** Of the daemon; null while none runs. */
  pid(): number | null;
  /** The version that `current` leads to. */
  installed(): string;
  /** What root said while it upgraded. */
  readonly upgradeLog: readonly string[];
  stop(): Promise<void>;
}

/** What is installed. */
export interface Installation {
  dataDir: string;
  version: string;
  /** YAML. */
  settings: string;
  /** Whose upgrades root installs. */
  trusted: string;
}

/** What dies is started again after this long. */
const RESTART_DELAY_MS = 200;
const POLL_MS = 50;
/** How much sooner it is clear to root that a version is well, each time that it answers, and that it is not, each time that it dies. */
const HEALTHY_SKIP_MS = 2_500;
const CRASH_SKIP_MS = 25_000;
/** A `systemctl` that has what it is asked for done by a test. */
const SYSTEMCTL = `#!${process.execPath}
const { CARILLON_TEST_SYSTEMD: at } = process.env;
const asking = require("node:net").connect(at, () => asking.end(JSON.stringify(process.argv.slice(2))));
asking.on("error", () => process.exit(1)).resume();
`;

/** The units of a test, by name; `systemctl` of this process leads to them. */
export interface SystemdUnits {
  set(name: string, unit: Unit): void;
  end(): void;
}

interface Unit {
  start(): void;
  stop(): Promise<void>;
  restart(): void;
}

/** Puts itself in the place of systemd for the programs that this process runs. */
export async function fakeSystemd(): Promise<SystemdUnits> {
  const folder = makeTempDir();
  const [program, socket] = [join(folder, "systemctl"), join(folder, "socket")];
  writeFileSync(program, SYSTEMCTL);
  chmodSync(program, 0o755);
  const units = new Map<string, Unit>();
  const server = createServer({ allowHalfOpen: true }, async (asked) => {
    const words = (JSON.parse(await text(asked)) as string[]).filter((word) => word !== "--no-block");
    const [what = "", name = ""] = words;
    await units.get(name)?.[what as keyof Unit]?.();
    asked.end();
  }).listen(socket);
  await once(server, "listening");
  const { PATH } = process.env;
  Object.assign(process.env, { PATH: `${folder}:${PATH}`, CARILLON_TEST_SYSTEMD: socket });
  return {
    set: (name, unit) => units.set(name, unit),
    end() {
      process.env.PATH = PATH;
      delete process.env.CARILLON_TEST_SYSTEMD;
      server.close();
    },
  };
}

/** Installs a version and starts it on data that are there; orders for upgrades are carried out from then on. */
export function installAppliance(name: string, units: SystemdUnits, installation: Installation): InstalledAppliance {
  const { dataDir, version, settings, trusted } = installation;
  const root = makeTempDir();
  const config = join(root, "carillon.yaml");
  writeFileSync(config, settings);
  mkdirSync(join(root, "versions"));
  copyVersion(join(root, "versions", version), version);
  symlinkSync(join(REPOSITORY_ROOT, "node_modules"), join(root, "node_modules"));
  symlinkSync(join("versions", version), join(root, "current"));
  const upgradeLog: string[] = [];
  const clock = createSkippingClock();
  const args = ["serve", "--data", dataDir, "--listen", "127.0.0.1:0", "--config", config];
  const daemon = keepRunning(
    () => [join(root, "current/dist/src/main.js"), ...args],
    () => clock.skip(CRASH_SKIP_MS),
  );
  units.set(name, daemon);
  daemon.start();
  const service = systemdService(dataDir, name);
  const state: typeof service.state = async () => {
    const found = await service.state();
    if (found && found.url !== "") clock.skip(HEALTHY_SKIP_MS);
    return found;
  };
  const options = {
    root,
    keys: [trusted],
    service: { ...service, state },
    clock,
    say: (line: string) => upgradeLog.push(line),
  };
  let isOver = false;
  /** As carillon-upgrade.path does. */
  async function watch(): Promise<void> {
    while (!isOver) {
      if (pendingUpgradeRequest(dataDir))
        await installRequestedUpgrade(dataDir, options).catch((error: unknown) => upgradeLog.push(`${error}`));
      await pause(POLL_MS);
    }
  }
  const watching = watch();
  return {
    ...{ root, upgradeLog, pid: daemon.pid },
    installed: () => basename(readlinkSync(join(root, "current"))),
    async stop() {
      isOver = true;
      await daemon.stop();
      await watching;
    },
  };
}

/** A program that is started again when it dies; `onDeath` is told of those that ended in failure. */
function keepRunning(command: () => string[], onDeath: () => void): Unit & { pid(): number | null } {
  let child: ChildProcess | null = null;
  let isWanted = false;
  function start(): void {
    isWanted = true;
    if (child) return;
    const begun = spawn(process.execPath, command(), { stdio: "ignore" });
    child = begun;
    begun.once("close", (code) => {
      child = null;
      if (code !== 0 && code !== null) onDeath();
      if (isWanted) setTimeout(() => isWanted && start(), RESTART_DELAY_MS);
    });
  }
  return {
    start,
    pid: () => child?.pid ?? null,
    restart: () => void (child ? child.kill("SIGTERM") : start()),
    async stop() {
      isWanted = false;
      if (!child) return;
      const closed = once(child, "close");
      child.kill("SIGTERM");
      await closed;
    },
  };
}

/** The machine's, but what is clear already need not be waited for. */
function createSkippingClock(): Clock & { skip(ms: number): void } {
  let skipped = 0;
  return {
    ...systemClock,
    monotonicMs: () => systemClock.monotonicMs() + skipped,
    skip(ms) {
      skipped += ms;
    },
  };
}
