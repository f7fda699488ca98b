import { resolve } from "node:path";
import { type Command, Option } from "commander";
import { backendSettings, connectToGateway } from "../gateway/backend-protocol.ts";
import { CallerError } from "../lib/errors.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { SettingsFile } from "../ops/settings-report.ts";
import { parseListenAddress } from "../settings/network-addresses.ts";
import type { Settings } from "../settings/schema.ts";
import { requireDatabaseUrl } from "./database-url.ts";
import type { SharedDatabase } from "./run-daemon.ts";
import { readSettings } from "./settings.ts";

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
  /** URL of this process at the gateway that started it. */
  front?: string;
}

/** `carillon serve`: runs the daemon until SIGTERM, SIGINT or a disk error ends it. */
export function addServe(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("serve")
    .description("Run the appliance until SIGTERM or Ctrl-C.")
    .requiredOption(
      "--data <dir>",
      "data directory of the appliance, created by init; an empty folder is set up in the browser",
    )
    .option("--listen <host:port>", "address of the API; port 0 takes a free port (default: `listen` of the settings)")
    .option("--config <file>", "settings file (YAML)")
    .addHelpText(
      "after",
      "\nExample:\n  carillon serve --data data --listen 127.0.0.1:8080 --config carillon.yaml\n\n" +
        'The one line on stdout, {"event":"ready","url":…,"pid":…,"urls":{…}}, appears once messages can be sent; `urls`\n' +
        "holds the plugins' own addresses. The API is at <url>/api/v1. The log (JSON lines) goes to stderr,\n" +
        "as does the reason when the appliance can't start.\n" +
        "An empty or missing folder starts a new appliance: open <url> and enter the code in <dir>/setup-code, which is\n" +
        "also shown on a terminal, to become its administrator.",
    )
    .action(async (options: ServeOptions) => finish(await serveWithRestarts(options, terminal, false)));
}

/** `carillon hub`: runs the same daemon as the cloud of an organisation. */
export function addHub(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  program
    .command("hub")
    .description("Run the cloud of an organisation, to which its appliances link, until SIGTERM or Ctrl-C.")
    .requiredOption(
      "--data <dir>",
      "data directory of the cloud, created by init; an empty folder is set up in the browser",
    )
    .option("--listen <host:port>", "address of the API; port 0 takes a free port (default: `listen` of the settings)")
    .option("--config <file>", "settings file (YAML)")
    .option("--database <url>", "postgres://USER@HOST:PORT/DATABASE without password, shared by several nodes")
    .option("--organisation <name>", "the organisation (tenant) of the database to serve")
    .option(
      "--all-organisations",
      "gateway: serve every organisation that has a host name, one process each, at one address",
    )
    .addOption(new Option("--front <url>").hideHelp())
    .option(
      "--restored",
      "the database was restored from a backup and no other node runs: appliances resynchronize fully",
    )
    .addHelpText(
      "after",
      "\nExample:\n  carillon init --data cloud --admin-email admin@example.org\n" +
        "  carillon hub --data cloud --listen 127.0.0.1:8090\n  carillon link code --data cloud\n\n" +
        "Appliances link with `carillon link enrol`. API, console and ready line are those of `carillon serve`.\n\n" +
        "With a database, several nodes serve one organisation: one is active (leader), the others are standbys with a local replica.\n" +
        'A standby prints {"event":"standby","pid":…} once its replica is complete and takes over within seconds when the leader\n' +
        "fails. Each node has its own data directory; copy the file secret-key of the first node to the others before their first\n" +
        "start. Set the password in PGPASSWORD or PGPASSFILE, or the whole URL in CARILLON_DATABASE. Put one name or address\n" +
        "(load balancer) in front of the nodes: only the leader listens.\n\n" +
        "With --all-organisations, --data holds one folder per organisation; assign host names with `carillon tenants add`.",
    )
    .action(async (options: HubOptions) => finish(await serveWithRestarts(options, terminal, true)));
}

/** Serves, and restarts whenever a restart was requested; returns the exit code. */
async function serveWithRestarts(options: HubOptions, terminal: Terminal, isHub: boolean): Promise<number> {
  const clientAddressAt = options.front === undefined ? undefined : connectToGateway(process);
  const { data, listen, config } = options;
  if (listen !== undefined && parseListenAddress(listen) === null)
    throw new CallerError("invalid-value", "--listen must be HOST:PORT, such as 127.0.0.1:8080 or [::]:8080.");
  const settings = await readSettings(terminal, config);
  if (typeof settings === "number") return settings;
  const { allOrganisations, front } = options;
  const withOverrides = (read: Settings): Settings =>
    front === undefined ? { ...read, listen: listen ?? read.listen } : backendSettings(read, front, data);
  const file = config === undefined ? null : settingsFileAt(resolve(config), withOverrides);
  if (allOrganisations) rejectSingleTenantOptions(options);
  let shared = isHub ? sharedDatabaseFrom(options, settings, terminal) : null;
  if (allOrganisations) return serveAllOfDatabase(options, withOverrides(settings), shared, terminal);
  const { runDaemon } = await import("./run-daemon.ts");
  let exitCode = await runDaemon(data, withOverrides(settings), file, terminal, isHub, shared, clientAddressAt);
  // Under systemd the process exits with EXIT.restart instead and systemd starts it again.
  while (exitCode === EXIT.restart && terminal.env.NOTIFY_SOCKET === undefined) {
    shared = shared && { ...shared, isRestored: false };
    exitCode = await runDaemon(
      data,
      (await file?.read()) ?? withOverrides(settings),
      file,
      terminal,
      isHub,
      shared,
      clientAddressAt,
    );
  }
  return exitCode;
}

async function serveAllOfDatabase(
  { data: dataDir, config }: HubOptions,
  settings: Settings,
  shared: SharedDatabase | null,
  terminal: Terminal,
): Promise<number> {
  if (!shared) throw new CallerError("required", "--all-organisations needs a database: add --database.");
  const { serveAllTenants } = await import("./serve-tenants.ts");
  return serveAllTenants({ dataDir, url: shared.url, settings, config }, terminal);
}

/** The database named by the command line, the environment or the settings; null for none. Throws CallerError. */
function sharedDatabaseFrom(options: HubOptions, { hub }: Settings, terminal: Terminal): SharedDatabase | null {
  const { database, organisation, restored } = options;
  const url = database ?? (terminal.env.CARILLON_DATABASE || hub.database);
  if (url === null) {
    // These options imply a database: without one, an unrelated stand-alone cloud would be set up.
    if (organisation === undefined && !restored) return null;
    throw new CallerError("required", "--organisation and --restored need a database: add --database.");
  }
  requireDatabaseUrl(url, database);
  return { url, organisation: organisation ?? hub.organisation, isRestored: restored === true };
}

function settingsFileAt(path: string, withOverrides: (read: Settings) => Settings): SettingsFile {
  return {
    path,
    async read() {
      const { loadSettings } = await import("../settings/load-settings.ts");
      return withOverrides(loadSettings(path));
    },
  };
}

/** Throws CallerError for options that apply to a single tenant. */
function rejectSingleTenantOptions(options: { organisation?: string; restored?: true }): void {
  if (options.organisation === undefined && !options.restored) return;
  throw new CallerError(
    "invalid-value",
    "--organisation and --restored conflict with --all-organisations, which serves every organisation that has a host name.",
  );
}
