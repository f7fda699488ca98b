import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { openTenantHosts, type TenantHost } from "../ha/tenant-hosts.ts";
import type { Clock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import type { Log } from "../lib/log.ts";
import { notifyReadyAndWatchdog } from "../ops/systemd-watchdog.ts";
import type { Settings } from "../settings/schema.ts";
import { sendControlCommand, startControlSocket } from "../wiring/control-socket.ts";
import { lockFolder } from "./folder-lock.ts";
import type { FindTenantSupervisor } from "./host-router.ts";
import { startGatewayListener } from "./listener.ts";
import { createTenantSupervisor, type TenantProcessStatus, type TenantSupervisor } from "./process-supervisor.ts";
import { createStartQueue } from "./start-queue.ts";

/** What serves all organisations of a database at one address. */
export interface GatewayOptions {
  /** Holds a folder of each organisation. */
  dataDir: string;
  /** Of the database, with its password if it has one. */
  url: string;
  listen: string;
  settings: Settings;
  /** The settings' file, for each organisation's process. */
  config: string | undefined;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  log: Log;
  /** A line of an organisation's log. */
  onLogLine(line: string): void;
}

/** It runs. */
export interface Gateway {
  /** Where it listens; organisations have host names there. */
  url: string;
  stop(): Promise<void>;
}

/** What `organisations` orders: the processes that it keeps, with the links that stand. */
export interface TenantStatus extends TenantProcessStatus {
  /** Appliances whose link stands; null where nobody answers. */
  links: number | null;
}

/** New organisations are there within so much. own choice */
const POLL_INTERVAL_MS = 2_000;
/** A start takes a core for some seconds; a slow one stands in nobody's way. own choice */
const MAX_CONCURRENT_STARTS = 2;
const START_SLOT_TIMEOUT_MS = 30_000;
const MAX_FOLDER_NAME_LENGTH = 200;

/** Starts it; organisations follow. Throws CallerError, UpstreamError, or Node's error for a taken address. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { dataDir } = options;
  await requireGatewayFolder(dataDir);
  const release = lockFolder(dataDir);
  try {
    return await serveTenants(options, release);
  } catch (error) {
    release();
    throw error;
  }
}

async function serveTenants(options: GatewayOptions, release: () => void): Promise<Gateway> {
  const { dataDir, clock, log, env } = options;
  const supervisors = new Map<string, TenantSupervisor>();
  const findSupervisor: FindTenantSupervisor = (host) => {
    const name = host?.replace(/\.$/, "");
    return [...supervisors.values()].find((each) => each.host === name) ?? null;
  };
  const hosts = await openTenantHosts(options.url, clock, (error) =>
    log.warn({ err: error }, "the database can't be reached"),
  );
  const listener = await startGatewayListener(options, findSupervisor).catch(async (error: unknown) => {
    await hosts.close();
    throw error;
  });
  const controlCommands = { organisations: () => Promise.all([...supervisors.values()].map(tenantStatusOf)) };
  const control = await startControlSocket(dataDir, controlCommands, log);
  const queue = createStartQueue(clock, MAX_CONCURRENT_STARTS, START_SLOT_TIMEOUT_MS);
  let refreshing: Promise<void> | null = null;
  let isStopped = false;

  /** Those that can't be begun stand in nobody's way. */
  function startIfNew(each: TenantHost): void {
    try {
      if (!isStopped && !supervisors.has(each.name)) startTenant(each);
    } catch (error) {
      log.error({ err: error, organisation: each.name }, "the organisation can't be served");
    }
  }

  async function refreshTenants(): Promise<void> {
    const wanted = new Map((await hosts.list()).map((each) => [each.name, each]));
    const unwanted = [...supervisors.values()].filter(({ name, host }) => wanted.get(name)?.host !== host);
    await Promise.all(unwanted.map(stopTenant));
    for (const each of wanted.values()) startIfNew(each);
  }

  async function stopTenant(keeper: TenantSupervisor): Promise<void> {
    // Nobody new is handed on; until its process is gone nobody else may use its folder.
    supervisors.delete(keeper.name);
    await keeper.stop();
    log.info({ organisation: keeper.name, host: keeper.host }, "the organisation is not served any more");
  }

  function startTenant({ name, host }: TenantHost): void {
    const folder = tenantFolder(dataDir, name);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const keeper = createTenantSupervisor({
      ...{ name, host, dataDir: folder, publicUrl: listener.publicUrl(host), config: options.config, clock, queue },
      env: { ...env, CARILLON_DATABASE: options.url },
      onLog: (line) => options.onLogLine(labelLogLine(line, name)),
      onCrash: (reason, againInMs) =>
        log.error({ organisation: name, reason, againInMs }, "the organisation's process ended"),
    });
    supervisors.set(name, keeper);
    log.info({ organisation: name, host, dataDir: folder }, "the organisation is served");
  }

  const triggerRefresh = (): void => {
    if (refreshing || isStopped) return;
    // Those that there are go on, whatever became of the database; what is wrong with it was said by its connection.
    refreshing = refreshTenants()
      .catch((error: unknown) => log.debug({ err: error }, "which organisations there are can't be found out"))
      .finally(() => {
        refreshing = null;
      });
  };
  const timer = clock.every(POLL_INTERVAL_MS, triggerRefresh);
  triggerRefresh();
  const watchdog = notifyReadyAndWatchdog({ env, clock, log }, "Organisations are served.");
  return {
    url: listener.url,
    async stop() {
      isStopped = true;
      timer.cancel();
      watchdog.cancel();
      // At once: no process that was told to end as well, as by Ctrl-C, is begun anew, and answers under way get out.
      await Promise.all([listener.stop(), refreshing, ...[...supervisors.values()].map((each) => each.stop())]);
      await control.stop();
      await hosts.close();
      release();
    },
  };
}

/** Throws UpstreamError for a folder of another kind, or one that a front uses. */
async function requireGatewayFolder(dataDir: string): Promise<void> {
  if (statSync(join(dataDir, "carillon.db"), { throwIfNoEntry: false })?.isFile())
    throw new UpstreamError("starting", `${dataDir} is the folder of one cloud: give an empty one.`, { dataDir });
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (await sendControlCommand(dataDir, { order: "organisations", args: {} }))
    throw new UpstreamError("starting", `Another process serves the organisations in ${dataDir}.`, { dataDir });
}

async function tenantStatusOf(keeper: TenantSupervisor): Promise<TenantStatus> {
  const report = keeper.status();
  const links = await sendControlCommand(keeper.dataDir, { order: "link.status", args: {} }).catch(() => null);
  const connected = (links?.result as { connected?: string[] } | undefined)?.connected;
  return { ...report, links: connected?.length ?? null };
}

/** Each organisation has a folder that is named like it. Throws CallerError for a name that is too long for one. */
function tenantFolder(dataDir: string, name: string): string {
  const folder = encodeURIComponent(name).replace(/^\./, "%2E");
  if (folder.length > MAX_FOLDER_NAME_LENGTH)
    throw new CallerError("invalid-value", `"${name}" is too long for a folder.`);
  return join(dataDir, folder);
}

/** A line of the log says whose it is. */
function labelLogLine(line: string, organisation: string): string {
  if (line.startsWith('{"')) return `{"organisation":${JSON.stringify(organisation)},${line.slice(1)}`;
  return JSON.stringify({ organisation, msg: line });
}
