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

/** Options of the gateway, which serves all tenants of a database at one address. */
export interface GatewayOptions {
  /** Contains one folder per tenant. */
  dataDir: string;
  /** Database URL, with the password if there is one. */
  url: string;
  listen: string;
  settings: Settings;
  /** Settings file that is passed to each tenant process. */
  config: string | undefined;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  log: Log;
  /** One line of a tenant's log. */
  onLogLine(line: string): void;
}

export interface Gateway {
  /** URL it listens at; tenants have host names there. */
  url: string;
  stop(): Promise<void>;
}

/** Response of the control command `organisations`: the state of a tenant process. */
export interface TenantStatus extends TenantProcessStatus {
  /** Appliances linked at present; null if the process does not respond. */
  links: number | null;
}

/** New tenants are served within this time. */
const POLL_INTERVAL_MS = 2_000;
/** A start uses one core for some seconds; a slow start gives up its slot after the timeout. */
const MAX_CONCURRENT_STARTS = 2;
const START_SLOT_TIMEOUT_MS = 30_000;
const MAX_FOLDER_NAME_LENGTH = 200;

/** Starts the gateway; tenant processes start afterwards. Throws CallerError, UpstreamError, or Node's error for an address in use. */
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
    log.warn({ event: "gateway.database_unreachable", err: error }, "database connection failed; retrying"),
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

  /** A tenant that can't be started must not keep the others from starting. */
  function startIfNew(each: TenantHost): void {
    try {
      if (!isStopped && !supervisors.has(each.name)) startTenant(each);
    } catch (error) {
      log.error({ event: "tenant.start_failed", err: error, organisation: each.name }, "tenant failed to start");
    }
  }

  async function refreshTenants(): Promise<void> {
    const wanted = new Map((await hosts.list()).map((each) => [each.name, each]));
    const unwanted = [...supervisors.values()].filter(({ name, host }) => wanted.get(name)?.host !== host);
    await Promise.all(unwanted.map(stopTenant));
    for (const each of wanted.values()) startIfNew(each);
  }

  async function stopTenant(supervisor: TenantSupervisor): Promise<void> {
    // No new connections from here on; nothing else may use the folder before the process has ended.
    supervisors.delete(supervisor.name);
    await supervisor.stop();
    log.info(
      { event: "tenant.removed", organisation: supervisor.name, host: supervisor.host },
      "tenant is no longer served",
    );
  }

  function startTenant({ name, host }: TenantHost): void {
    const folder = tenantFolder(dataDir, name);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const supervisor = createTenantSupervisor({
      ...{ name, host, dataDir: folder, publicUrl: listener.publicUrl(host), config: options.config, clock, queue },
      env: { ...env, CARILLON_DATABASE: options.url },
      onLog: (line) => options.onLogLine(labelLogLine(line, name)),
      onCrash: (reason, retryInMs) =>
        log.error(
          { event: "tenant.process_exited", organisation: name, reason, retryInMs },
          "tenant process exited; restarting",
        ),
    });
    supervisors.set(name, supervisor);
    log.info({ event: "tenant.added", organisation: name, host, dataDir: folder }, "tenant is served");
  }

  const triggerRefresh = (): void => {
    if (refreshing || isStopped) return;
    // If the database is down the current tenants stay; the connection has already logged the error.
    refreshing = refreshTenants()
      .catch((error: unknown) =>
        log.debug({ event: "gateway.tenant_list_failed", err: error }, "failed to read the list of tenants"),
      )
      .finally(() => {
        refreshing = null;
      });
  };
  const timer = clock.every(POLL_INTERVAL_MS, triggerRefresh);
  triggerRefresh();
  const watchdog = notifyReadyAndWatchdog({ env, clock, log }, "Serving tenants.");
  return {
    url: listener.url,
    async stop() {
      isStopped = true;
      timer.cancel();
      watchdog.cancel();
      // All at once: a tenant process that got the signal, too (Ctrl-C), is not restarted, and open responses can finish.
      await Promise.all([listener.stop(), refreshing, ...[...supervisors.values()].map((each) => each.stop())]);
      await control.stop();
      await hosts.close();
      release();
    },
  };
}

/** Throws UpstreamError for the data directory of a single appliance or cloud, or one in use by another gateway. */
async function requireGatewayFolder(dataDir: string): Promise<void> {
  if (statSync(join(dataDir, "carillon.db"), { throwIfNoEntry: false })?.isFile())
    throw new UpstreamError("starting", `${dataDir} is the data directory of a single cloud; use an empty folder.`, {
      dataDir,
    });
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (await sendControlCommand(dataDir, { order: "organisations", args: {} }))
    throw new UpstreamError("starting", `Another process already runs a gateway on ${dataDir}.`, { dataDir });
}

async function tenantStatusOf(supervisor: TenantSupervisor): Promise<TenantStatus> {
  const report = supervisor.status();
  const links = await sendControlCommand(supervisor.dataDir, { order: "link.status", args: {} }).catch(() => null);
  const connected = (links?.result as { connected?: string[] } | undefined)?.connected;
  return { ...report, links: connected?.length ?? null };
}

/** Data directory of a tenant, named after it. Throws CallerError if the name is too long for a folder. */
function tenantFolder(dataDir: string, name: string): string {
  const folder = encodeURIComponent(name).replace(/^\./, "%2E");
  if (folder.length > MAX_FOLDER_NAME_LENGTH)
    throw new CallerError(
      "invalid-value",
      `"${name}" is too long: the encoded name must have at most ${MAX_FOLDER_NAME_LENGTH} characters.`,
    );
  return join(dataDir, folder);
}

/** Adds the tenant's name to a line of its log. */
function labelLogLine(line: string, organisation: string): string {
  if (line.startsWith('{"')) return `{"organisation":${JSON.stringify(organisation)},${line.slice(1)}`;
  return JSON.stringify({ organisation, msg: line });
}
