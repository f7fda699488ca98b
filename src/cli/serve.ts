import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { backendSettings, connectToGateway } from "../gateway/backend-protocol.ts";
import { systemClock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import { createLog, stderrStream } from "../lib/log.ts";
import { openRotatingLog, type RotatingLog } from "../ops/logs/log-files.ts";
import { formatLogLine } from "../ops/logs/log-reader.ts";
import type { SettingsFile } from "../ops/settings-report.ts";
import { parseListenAddress } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";
import type { CloudNode, CloudNodeOptions } from "../wiring/cloud-node/cloud-node.ts";
import { startDaemon } from "../wiring/daemon.ts";
import { prepareFirstRun, readSetupCode } from "../wiring/first-run.ts";
import { requireDatabaseUrl } from "./database-url.ts";
import { EXIT } from "./exit-codes.ts";
import { rejectSingleTenantOptions, serveAllTenants } from "./serve-tenants.ts";
import { readSettings } from "./settings.ts";
import { createStartupStatusReporter } from "./startup-status-reporter.ts";
import type { Terminal } from "./terminal.ts";

interface ServeOptions {
  data: string;
  listen?: string;
  config?: string;
}

interface HubOptions extends ServeOptions {
  database?: string;
  organisation?: string;
  restored?: true;
  allOrganisations?: true;
  /** The URL by which the front that started this process is reached for it. */
  front?: string;
}

/** The database that a cloud shares with its other nodes. */
interface SharedDatabase {
  url: string;
  organisation: string;
  isRestored: boolean;
}

type StopReason = "signal" | "disk" | "restart";

const EXIT_CODE_BY_REASON = { signal: EXIT.ok, disk: EXIT.disk, restart: EXIT.restart } as const;

/** `carillon serve`: the daemon, until SIGTERM, SIGINT or a fault of the disk ends it. */
export function addServe(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("serve")
    .description("Run the appliance until SIGTERM or Ctrl-C.")
    .requiredOption("--data <dir>", "the appliance's data, made by init; an empty folder is set up in the browser")
    .option("--listen <host:port>", "address of the API; port 0 takes a free one (the settings' `listen` unless given)")
    .option("--config <file>", "settings file (YAML)")
    .addHelpText(
      "after",
      "\nExample:\n  carillon serve --data data --listen 127.0.0.1:8080 --config carillon.yaml\n\n" +
        'The one line on stdout, {"event":"ready","url":…,"pid":…,"urls":{…}}, comes once messages can be sent; `urls`\n' +
        "holds the plugins' own addresses. The API is at <url>/api/v1. The log, JSON lines, goes to stderr;\n" +
        "what keeps the appliance from starting is told there in words.\n" +
        "In an empty or missing folder a new appliance is made: whoever opens <url> and gives the code that lies in\n" +
        "<dir>/setup-code, and is shown on a terminal, becomes its administrator.",
    )
    .action(async (options: ServeOptions) => finish(await serveWithRestarts(options, terminal, false)));
}

/** `carillon hub`: the same daemon as the cloud of an organisation. */
export function addHub(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("hub")
    .description("Run the cloud of an organisation, to which its appliances are linked, until SIGTERM or Ctrl-C.")
    .requiredOption("--data <dir>", "the cloud's data, made by init; an empty folder is set up in the browser")
    .option("--listen <host:port>", "address of the API; port 0 takes a free one (the settings' `listen` unless given)")
    .option("--config <file>", "settings file (YAML)")
    .option("--database <url>", "postgres://USER@HOST:PORT/DATABASE that several nodes share; no password in it")
    .option("--organisation <name>", "which of the organisations that share the database")
    .option("--all-organisations", "a process for each organisation that has a host name, all at one address")
    .addOption(new Option("--front <url>").hideHelp())
    .option("--restored", "the database was brought back from a backup, no other node runs: appliances compare all")
    .addHelpText(
      "after",
      "\nExample:\n  carillon init --data cloud --admin-email admin@example.org\n" +
        "  carillon hub --data cloud --listen 127.0.0.1:8090\n  carillon link code --data cloud\n\n" +
        "Appliances come with `carillon link enrol`. API, console and ready line are those of `carillon serve`.\n\n" +
        "With a database, several nodes keep one organisation: one acts, each other keeps a copy, says so in a line\n" +
        '{"event":"standby","pid":…} once it has all of it, and acts as soon as the first one is gone. Each has a folder of its own; further ones\n' +
        "begin with a copy of the first one's file secret-key. The password comes by PGPASSWORD or PGPASSFILE, or the whole\n" +
        "URL by CARILLON_DATABASE. Put one name or address in front of the nodes: only the one that acts listens.\n\n" +
        "With --all-organisations, --data holds a folder for each, and host names come by `carillon hub-organisations add`.",
    )
    .action(async (options: HubOptions) => finish(await serveWithRestarts(options, terminal, true)));
}

/** Serves, and serves again whenever a restart was ordered; gives the exit code. */
async function serveWithRestarts(options: HubOptions, terminal: Terminal, isHub: boolean): Promise<number> {
  const callerAt = options.front === undefined ? undefined : connectToGateway(process);
  const { data, listen, config } = options;
  if (listen !== undefined && parseListenAddress(listen) === null)
    throw new CallerError("invalid-value", "--listen is HOST:PORT, such as 127.0.0.1:8080 or [::]:8080.");
  const settings = await readSettings(terminal, config);
  if (typeof settings === "number") return settings;
  const { allOrganisations, front } = options;
  const above = (read: Settings): Settings =>
    front === undefined ? { ...read, listen: listen ?? read.listen } : backendSettings(read, front, data);
  const file = config === undefined ? null : settingsFileAt(resolve(config), above);
  if (allOrganisations) rejectSingleTenantOptions(options);
  let shared = isHub ? sharedDatabaseFrom(options, settings, terminal) : null;
  if (allOrganisations) return serveAllOfDatabase(options, above(settings), shared, terminal);
  let exitCode = await runDaemon(data, above(settings), file, terminal, isHub, shared, callerAt);
  // Nobody else starts it again: systemd says by this word that it does.
  while (exitCode === EXIT.restart && terminal.env.NOTIFY_SOCKET === undefined) {
    shared = shared && { ...shared, isRestored: false };
    exitCode = await runDaemon(data, (await file?.read()) ?? above(settings), file, terminal, isHub, shared, callerAt);
  }
  return exitCode;
}

function serveAllOfDatabase(
  { data: dataDir, config }: HubOptions,
  settings: Settings,
  shared: SharedDatabase | null,
  terminal: Terminal,
): Promise<number> {
  if (!shared) throw new CallerError("required", "--all-organisations are those of a database: name it by --database.");
  return serveAllTenants({ dataDir, url: shared.url, settings, config }, terminal);
}

/** The database that the command line, the environment or the settings name; null for none. Throws CallerError. */
function sharedDatabaseFrom(options: HubOptions, { hub }: Settings, terminal: Terminal): SharedDatabase | null {
  const { database, organisation, restored } = options;
  const url = database ?? (terminal.env.CARILLON_DATABASE || hub.database);
  if (url === null) {
    // Whoever says so means a database that nothing names: a cloud of its own would be begun beside it.
    if (organisation === undefined && !restored) return null;
    throw new CallerError("required", "--organisation and --restored are about a database: name it by --database.");
  }
  requireDatabaseUrl(url, database);
  return { url, organisation: organisation ?? hub.organisation, isRestored: restored === true };
}

function settingsFileAt(path: string, above: (read: Settings) => Settings): SettingsFile {
  return {
    path,
    async read() {
      const { loadSettings } = await import("../settings/load-settings.ts");
      return above(loadSettings(path));
    },
  };
}

/** Runs the daemon and gives the exit code. A signal during the start ends it at once: what is committed is safe. */
async function runDaemon(
  dataDir: string,
  settings: Settings,
  settingsFile: SettingsFile | null,
  terminal: Terminal,
  isHub: boolean,
  shared: SharedDatabase | null,
  callerAt: ReturnType<typeof connectToGateway> | undefined,
): Promise<number> {
  const lines = createLogOutput(
    () => files,
    terminal.errIsTerminal ? (line) => `${formatLogLine(line)}\n` : (line) => line,
  );
  process.once("exit", lines.flush);
  let files: RotatingLog | null = null;
  const log = createLog({ level: settings.log.level, stream: lines });
  let stopWith: (why: StopReason) => void = () => undefined;
  const stopReason = new Promise<StopReason>((resolve) => {
    stopWith = resolve;
  });
  const endListening = terminal.onStop((signal) => {
    log.info({ signal }, "stopping");
    stopWith("signal");
  });
  const onFatal = (error: unknown): void => {
    log.fatal({ err: error }, "the disk failed while writing; ending at once, a restart is safe");
    stopWith("disk");
  };
  const stopped = new AbortController();
  void stopReason.then((why) => stopped.abort(why));
  let node: CloudNode | null = null;
  const statusReporter = createStartupStatusReporter({ terminal, clock: systemClock, log });
  try {
    if (shared) {
      const { signal } = stopped;
      node = await waitForLeadership({
        ...shared,
        dataDir,
        clock: systemClock,
        log,
        signal,
        onStatus: statusReporter.report,
      });
      if (node === null) return EXIT_CODE_BY_REASON[await stopReason];
      void node.leadershipLost().then(() => {
        log.warn({}, "another node acts: this one stands by");
        stopWith("restart");
      });
    } else await prepareFirstRun(dataDir, systemClock);
    // What is no appliance, or a folder by mistake, gets no files.
    if (existsSync(join(dataDir, "carillon.db"))) files = openRotatingLog(dataDir);
    const daemon = await Promise.race([
      stopReason,
      startDaemon({
        ...{ dataDir, listen: settings.listen, settings, log, isHub, onFatal },
        onRestart: () => stopWith("restart"),
        ...(node && { shared: node.sharedLog, source: node.healthSource }),
        ...(callerAt && { callerAt }),
        ...(settingsFile && { settingsFile }),
      }),
    ]);
    statusReporter.stop();
    if (typeof daemon === "string") return EXIT_CODE_BY_REASON[daemon];
    const { url, urls } = daemon;
    terminal.out(JSON.stringify({ event: "ready", url, pid: process.pid, urls }));
    if (readSetupCode(dataDir) !== null)
      log.warn(
        { url, file: join(dataDir, "setup-code") },
        "waits to be set up in the browser with the code in this file",
      );
    printSetupCode(terminal, dataDir, url);
    const why = await stopReason;
    if (why !== "disk") await daemon.stop();
    return EXIT_CODE_BY_REASON[why];
  } finally {
    statusReporter.stop();
    endListening();
    await node?.stop();
    lines.flush();
    process.off("exit", lines.flush);
    files?.close();
  }
}

/** Waits until this node acts; null when it was told to stop before. */
async function waitForLeadership(options: CloudNodeOptions): Promise<CloudNode | null> {
  // Its driver is loaded where it is used alone.
  const { joinCluster } = await import("../wiring/cloud-node/cloud-node.ts");
  try {
    return await joinCluster(options);
  } catch (error) {
    if (options.signal.aborted) return null;
    throw error;
  }
}

/**
 * Lines go to stderr, for the journal or a terminal, and to the files that `carillon logs` reads; those of one turn of the
 * event loop in one piece, since thousands of requests may come at once. `shown` is how stderr has them.
 */
function createLogOutput(
  files: () => RotatingLog | null,
  shown: (line: string) => string,
): { write(line: string): void; flush(): void } {
  const stderr = stderrStream();
  let waiting = "";
  let showing = "";
  const flush = (): void => {
    if (waiting === "") return;
    stderr.write(showing);
    files()?.write(waiting);
    waiting = "";
    showing = "";
  };
  return {
    write(line) {
      if (waiting === "") systemClock.defer(flush);
      waiting += line;
      showing += shown(line);
    },
    flush,
  };
}

/** The code goes to people alone: what is no terminal may be kept as a log. */
export function printSetupCode(terminal: Pick<Terminal, "err" | "errIsTerminal">, dataDir: string, url: string): void {
  const code = terminal.errIsTerminal ? readSetupCode(dataDir) : null;
  if (code !== null) terminal.err(`\nThis appliance is new. Open ${url} and set it up with the code ${code}\n`);
}
