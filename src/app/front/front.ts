import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../base/clock.ts";
import { CallerError, UpstreamError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { tellReady } from "../../operations/supervision.ts";
import { type HostedOrganisation, openHosts } from "../../replication/hub/postgres/hosts.ts";
import type { Settings } from "../../settings/schema.ts";
import { sendOrder, startControlSocket } from "../control-socket.ts";
import { lockFolder } from "./folder-lock.ts";
import type { FindKeeper } from "./host-front.ts";
import { createKeeper, type Keeper, type KeeperReport } from "./keeper.ts";
import { startListening } from "./listening.ts";
import { createQueue } from "./start-queue.ts";

/** What serves all organisations of a database at one address. */
export interface FrontOptions {
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
  onLine(line: string): void;
}

/** It runs. */
export interface Front {
  /** Where it listens; organisations have host names there. */
  url: string;
  stop(): Promise<void>;
}

/** What `organisations` orders: the processes that it keeps, with the links that stand. */
export interface FrontReport extends KeeperReport {
  /** Appliances whose link stands; null where nobody answers. */
  links: number | null;
}

/** New organisations are there within so much. own choice */
const LOOK_MS = 2_000;
/** A start takes a core for some seconds; a slow one stands in nobody's way. own choice */
const STARTS_AT_ONCE = 2;
const START_PATIENCE_MS = 30_000;
const LONGEST_FOLDER = 200;

/** Starts it; organisations follow. Throws CallerError, UpstreamError, or Node's error for a taken address. */
export async function startFront(options: FrontOptions): Promise<Front> {
  const { dataDir } = options;
  await requireOwnFolder(dataDir);
  const release = lockFolder(dataDir);
  try {
    return await serveAll(options, release);
  } catch (error) {
    release();
    throw error;
  }
}

async function serveAll(options: FrontOptions, release: () => void): Promise<Front> {
  const { dataDir, clock, log, env } = options;
  const keepers = new Map<string, Keeper>();
  const find: FindKeeper = (host) => {
    const name = host?.replace(/\.$/, "");
    return [...keepers.values()].find((each) => each.host === name) ?? null;
  };
  const hosts = await openHosts(options.url, clock, (error) =>
    log.warn({ err: error }, "the database can't be reached"),
  );
  const listening = await startListening(options, find).catch(async (error: unknown) => {
    await hosts.close();
    throw error;
  });
  const orders = { organisations: () => Promise.all([...keepers.values()].map(reportOf)) };
  const control = await startControlSocket(dataDir, orders, log);
  const queue = createQueue(clock, STARTS_AT_ONCE, START_PATIENCE_MS);
  let looking: Promise<void> | null = null;
  let isStopped = false;

  /** Those that can't be begun stand in nobody's way. */
  function beginIfNew(each: HostedOrganisation): void {
    try {
      if (!isStopped && !keepers.has(each.name)) begin(each);
    } catch (error) {
      log.error({ err: error, organisation: each.name }, "the organisation can't be served");
    }
  }

  async function look(): Promise<void> {
    const wanted = new Map((await hosts.all()).map((each) => [each.name, each]));
    const unwanted = [...keepers.values()].filter(({ name, host }) => wanted.get(name)?.host !== host);
    await Promise.all(unwanted.map(end));
    for (const each of wanted.values()) beginIfNew(each);
  }

  async function end(keeper: Keeper): Promise<void> {
    // Nobody new is handed on; until its process is gone nobody else may use its folder.
    keepers.delete(keeper.name);
    await keeper.stop();
    log.info({ organisation: keeper.name, host: keeper.host }, "the organisation is not served any more");
  }

  function begin({ name, host }: HostedOrganisation): void {
    const folder = folderOf(dataDir, name);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const keeper = createKeeper({
      ...{ name, host, dataDir: folder, publicUrl: listening.publicUrl(host), config: options.config, clock, queue },
      env: { ...env, CARILLON_DATABASE: options.url },
      onLog: (line) => options.onLine(marked(line, name)),
      onCrash: (reason, againInMs) =>
        log.error({ organisation: name, reason, againInMs }, "the organisation's process ended"),
    });
    keepers.set(name, keeper);
    log.info({ organisation: name, host, dataDir: folder }, "the organisation is served");
  }

  const lookAgain = (): void => {
    if (looking || isStopped) return;
    // Those that there are go on, whatever became of the database; what is wrong with it was said by its connection.
    looking = look()
      .catch((error: unknown) => log.debug({ err: error }, "which organisations there are can't be found out"))
      .finally(() => {
        looking = null;
      });
  };
  const timer = clock.every(LOOK_MS, lookAgain);
  lookAgain();
  const watching = tellReady({ env, clock, log }, "Organisations are served.");
  return {
    url: listening.url,
    async stop() {
      isStopped = true;
      timer.cancel();
      watching.cancel();
      // At once: no process that was told to end as well, as by Ctrl-C, is begun anew, and answers under way get out.
      await Promise.all([listening.stop(), looking, ...[...keepers.values()].map((each) => each.stop())]);
      await control.stop();
      await hosts.close();
      release();
    },
  };
}

/** Throws UpstreamError for a folder of another kind, or one that a front uses. */
async function requireOwnFolder(dataDir: string): Promise<void> {
  if (statSync(join(dataDir, "carillon.db"), { throwIfNoEntry: false })?.isFile())
    throw new UpstreamError("starting", `${dataDir} is the folder of one cloud: give an empty one.`, { dataDir });
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (await sendOrder(dataDir, { order: "organisations", args: {} }))
    throw new UpstreamError("starting", `Another process serves the organisations in ${dataDir}.`, { dataDir });
}

async function reportOf(keeper: Keeper): Promise<FrontReport> {
  const report = keeper.report();
  const links = await sendOrder(keeper.dataDir, { order: "link.status", args: {} }).catch(() => null);
  const connected = (links?.result as { connected?: string[] } | undefined)?.connected;
  return { ...report, links: connected?.length ?? null };
}

/** Each organisation has a folder that is named like it. Throws CallerError for a name that is too long for one. */
function folderOf(dataDir: string, name: string): string {
  const folder = encodeURIComponent(name).replace(/^\./, "%2E");
  if (folder.length > LONGEST_FOLDER) throw new CallerError("invalid-value", `"${name}" is too long for a folder.`);
  return join(dataDir, folder);
}

/** A line of the log says whose it is. */
function marked(line: string, organisation: string): string {
  if (line.startsWith('{"')) return `{"organisation":${JSON.stringify(organisation)},${line.slice(1)}`;
  return JSON.stringify({ organisation, msg: line });
}
