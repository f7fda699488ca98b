import { type ChildProcess, spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import type { Clock, Timer } from "./clock.ts";
import type { Log } from "./log.ts";
import { type OwnAddress, ownAddresses } from "./network-route.ts";

/** Reports changes of the machine's addresses, links and routes. */
export interface NetworkWatch {
  start(): void;
  stop(): void;
  /** Reads the network now and reports a change. */
  check(): Promise<void>;
}

export interface NetworkWatchDeps {
  clock: Clock;
  log: Log;
  /** Called after each change with the addresses that the machine has now. */
  onChange(addresses: readonly OwnAddress[]): void;
  /** Reads the addresses; by default the machine's. */
  addresses?: () => OwnAddress[];
  /** Reads the routes as text; by default the kernel's tables. */
  routes?: () => Promise<string>;
  /** Starts a program whose output announces changes; null where there is none. By default iproute2's monitor. */
  monitor?: (() => ChildProcess) | null;
}

/** Notices a change where the monitor is missing. */
const POLL_MS = 500;
/** One change comes as several announcements. */
const SETTLE_MS = 20;
/** Pause before a monitor that has ended is started again. */
const MONITOR_RETRY_MS = 60_000;
/** The main tables; those of policy routing are announced by the monitor only. */
const ROUTE_TABLES = ["/proc/self/net/route", "/proc/self/net/ipv6_route"];

/**
 * Creates the watch. The kernel announces changes through `ip monitor`; polling covers machines without that program.
 * An announcement counts as a change even if addresses and main routes are equal, since it may concern another table.
 */
export function createNetworkWatch(deps: NetworkWatchDeps): NetworkWatch {
  const { clock, log, onChange, addresses = ownAddresses, routes = readRoutes, monitor = startMonitor } = deps;
  let known: string | null = null;
  let knownAddresses: readonly OwnAddress[] = [];
  let child: ChildProcess | null = null;
  let polling: Timer | null = null;
  let settling: Timer | null = null;
  let restarting: Timer | null = null;
  let stopped = true;
  let reading: Promise<void> | null = null;

  const read = async (isAnnounced: boolean): Promise<void> => {
    const found = addresses();
    const state = `${JSON.stringify(found)}\n${await routes()}`;
    if (stopped) return;
    const isFirst = known === null;
    if (isFirst || (state === known && !isAnnounced)) {
      [known, knownAddresses] = [state, found];
      return;
    }
    const isNews = state !== known;
    const [added, removed] = [difference(found, knownAddresses), difference(knownAddresses, found)];
    [known, knownAddresses] = [state, found];
    const values = { event: "network.changed", added, removed, addresses: found.map(({ address }) => address) };
    if (isNews) log.info(values, "network changed: addresses, links or routes");
    else log.debug(values, "network change announced");
    onChange(found);
  };
  const check = (isAnnounced = false): Promise<void> => {
    const before = reading ?? Promise.resolve();
    const next = before
      .then(() => read(isAnnounced))
      .finally(() => {
        if (reading === next) reading = null;
      });
    reading = next;
    return next;
  };
  const announce = (): void => {
    settling ??= clock.after(SETTLE_MS, () => {
      settling = null;
      void check(true);
    });
  };
  const listen = (): void => {
    if (monitor === null || stopped) return;
    const started = monitor();
    child = started;
    started.stdout?.on("data", announce);
    // Without the program the polling goes on alone.
    const onEnd = (reason: unknown): void => {
      if (child !== started) return;
      child = null;
      log.debug({ event: "network.monitor_ended", reason: String(reason) }, "network monitor ended, polling only");
      restarting = clock.after(MONITOR_RETRY_MS, listen, { background: true });
    };
    started.once("error", onEnd);
    started.once("exit", onEnd);
  };

  return {
    start() {
      stopped = false;
      void check();
      polling = clock.every(POLL_MS, () => void (reading ?? check()));
      listen();
    },
    stop() {
      stopped = true;
      for (const timer of [polling, settling, restarting]) timer?.cancel();
      const ending = child;
      child = null;
      ending?.kill("SIGKILL");
    },
    check: () => check(),
  };
}

function difference(some: readonly OwnAddress[], others: readonly OwnAddress[]): string[] {
  const keys = new Set(others.map(keyOf));
  return some.map(keyOf).filter((key) => !keys.has(key));
}

function keyOf({ name, address }: OwnAddress): string {
  return `${name} ${address}`;
}

/** Reference and use counters of a route change without meaning. */
async function readRoutes(): Promise<string> {
  const tables = await Promise.all(ROUTE_TABLES.map((path) => readFile(path, "latin1").catch(() => "")));
  const [ipv4 = "", ipv6 = ""] = tables;
  return [
    ...ipv4.split("\n").map((line) => columns(line, [0, 1, 2, 3, 6, 7])),
    ...ipv6.split("\n").map((line) => columns(line, [0, 1, 4, 5, 8, 9])),
  ].join("\n");
}

function columns(line: string, which: readonly number[]): string {
  const all = line.trim().split(/\s+/);
  return which.map((at) => all[at] ?? "").join(" ");
}

/** `setpriv` ends the monitor with the daemon, even after SIGKILL. */
function startMonitor(): ChildProcess {
  const child = spawn("setpriv", ["--pdeathsig", "KILL", "ip", "-j", "monitor", "link", "address", "route"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  child.unref();
  (child.stdout as unknown as { unref?: () => void } | null)?.unref?.();
  return child;
}
