import type { Command } from "commander";
import type { TenantStatus } from "../gateway/gateway.ts";
import type { TenantHosts } from "../ha/tenant-hosts.ts";
import type { TenantAppliance, TenantNode, TenantOverview } from "../ha/tenant-overview.ts";
import { systemClock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import { describeProgress } from "../wiring/cloud-node/node-status.ts";
import { sendControlCommand } from "../wiring/control-socket.ts";
import { requireDatabaseUrl } from "./database-url.ts";

/** Clouds record every minute which appliances are connected. */
const ONLINE_WITHIN_MS = 150_000;

interface ListOptions {
  database?: string;
  data?: string;
  appliances?: true;
  json?: true;
}

const DATABASE = ["--database <url>", "postgres://USER@HOST:PORT/DATABASE; no password in it"] as const;

/** `carillon tenants`, alias `hub-organisations`: the organisations that share a database, with hosts, nodes and appliances. */
export function addTenants(program: Command, terminal: Terminal): void {
  const tenants = program
    .command("tenants")
    .alias("hub-organisations")
    .description("List the organisations (tenants) that share a database, with their nodes and appliances.")
    .enablePositionalOptions()
    .option(...DATABASE)
    .option(
      "--data <dir>",
      "data directory of `hub --all-organisations` on this machine: also show the state of each process",
    )
    .option("--appliances", "list every appliance")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon tenants --database postgres://carillon@db.example.org/carillon --appliances\n\n" +
        "Read-only. Set the password in PGPASSWORD or PGPASSFILE, or the whole URL in CARILLON_DATABASE.\n" +
        "`carillon hub-organisations` is an alias.",
    )
    .action((options: ListOptions) => list(options, terminal));
  tenants
    .command("add <name>")
    .description(
      "Assign a host name to an organisation, so that `hub --all-organisations` serves it; creates the organisation if new.",
    )
    .requiredOption("--host <name>", "host name such as district-a.example.org; replaces the previous one")
    .option(...DATABASE)
    .addHelpText("after", "\nExample:\n  carillon tenants add district-a --host district-a.example.org")
    .action(async (name: string, { host, database }: { host: string; database?: string }) => {
      await withHosts(urlOf(database, terminal), (hosts) => hosts.assign(name, host));
      terminal.out(`${host} now serves ${name}.`);
    });
  tenants
    .command("release <name>")
    .description("Remove the host name of an organisation: it is no longer served; its data are kept.")
    .option(...DATABASE)
    .addHelpText("after", "\nExample:\n  carillon tenants release district-a")
    .action(async (name: string, { database }: { database?: string }) => {
      await withHosts(urlOf(database, terminal), (hosts) => hosts.release(name));
      terminal.out(`${name} has no host name and is no longer served.`);
    });
}

function urlOf(database: string | undefined, terminal: Terminal): string {
  const url = database ?? terminal.env.CARILLON_DATABASE ?? "";
  if (url === "") throw new CallerError("required", "Database missing: add --database or set CARILLON_DATABASE.");
  requireDatabaseUrl(url, database);
  return url;
}

async function withHosts(url: string, use: (hosts: TenantHosts) => Promise<void>): Promise<void> {
  const { openTenantHosts } = await import("../ha/tenant-hosts.ts");
  const hosts = await openTenantHosts(url, systemClock);
  try {
    await use(hosts);
  } finally {
    await hosts.close();
  }
}

async function list({ database, data, appliances, json }: ListOptions, terminal: Terminal): Promise<void> {
  const url = urlOf(database, terminal);
  // Loads the PostgreSQL driver only if it is needed.
  const { readTenantOverviews } = await import("../ha/tenant-overview.ts");
  const processes = data === undefined ? null : await tenantStatuses(data);
  const all = (await readTenantOverviews(url, systemClock)).map((one) => ({
    ...one,
    ...(processes && { process: processes.find(({ name }) => name === one.name) ?? null }),
  }));
  if (json) return terminal.out(JSON.stringify(all));
  const now = systemClock.now();
  for (const line of all.flatMap((one) => tenantLines(one, appliances === true, now))) terminal.out(line);
}

/** Throws UpstreamError if no gateway runs on this data directory. */
async function tenantStatuses(dataDir: string): Promise<TenantStatus[]> {
  const response = await sendControlCommand(dataDir, { order: "organisations", args: {} });
  if (response) return response.result as TenantStatus[];
  const message = `No gateway runs on ${dataDir}. Start it: carillon hub --all-organisations --data ${dataDir} …`;
  throw new UpstreamError("starting", message, { dataDir });
}

type ListedTenant = TenantOverview & { process?: TenantStatus | null };

function tenantLines(one: ListedTenant, withAppliances: boolean, now: number): string[] {
  const online = one.appliances.filter(({ heardAt }) => now - heardAt <= ONLINE_WITHIN_MS);
  const behind = Math.max(0, ...one.appliances.map((each) => each.behind ?? 0));
  const versions = [...new Set(one.appliances.map(({ version }) => version ?? "?"))].sort();
  const nodes =
    one.nodes.length === 0 ? "no running node" : one.nodes.map((node) => describeNode(node, one)).join(", ");
  return [
    `${one.name}  ${one.host ?? "no host name"}  ${nodes}`,
    ...(one.process === undefined ? [] : [`  process     ${describeProcess(one.process)}`]),
    `  appliances  ${one.appliances.length}, ${online.length} online; at most ${behind} changes behind; ${versions.join(" ") || "-"}`,
    ...(withAppliances ? one.appliances.map((each) => `  ${describeAppliance(each, now)}`) : []),
  ];
}

function describeProcess(report: TenantStatus | null): string {
  if (!report) return "no process here";
  const { state, since, work, pid, restarts, reason, connections, links } = report;
  const ended = reason === null ? "" : `; restarted ${restarts} times, last reason: ${reason}`;
  const at = `${STATE_LABELS[state]} since ${new Date(since).toISOString()}${pid === null ? "" : ` (${pid})`}`;
  const doing = work === null ? "" : `; ${describeProgress(work)}`;
  return `${at}, ${links ?? "?"} links, ${connections} connections${ended}${doing}`;
}

/** State names in the JSON output, and the text for people. */
const STATE_LABELS: Readonly<Record<TenantStatus["state"], string>> = {
  queued: "queued",
  starting: "starting",
  acts: "active",
  "stands-by": "standby",
  ended: "stopped",
};

/** A leader that has no version yet is still copying its rows to the database. */
function describeNode({ name, acts }: TenantNode, { version }: TenantOverview): string {
  if (acts && version === null) return `${name} uploads its data`;
  return `${name} ${acts ? "active" : "standby"}`;
}

function describeAppliance(
  { endpointId, name, version, heardAt, health, behind }: TenantAppliance,
  now: number,
): string {
  const state = now - heardAt <= ONLINE_WITHIN_MS ? "online" : `offline since ${new Date(heardAt).toISOString()}`;
  return `${name ?? endpointId}  ${state}  ${version ?? "?"}  ${health ?? "?"}  ${behind ?? "all"} changes behind`;
}
