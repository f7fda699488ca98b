import type { Command } from "commander";
import type { TenantStatus } from "../gateway/gateway.ts";
import type { TenantHosts } from "../ha/tenant-hosts.ts";
import type { TenantAppliance, TenantNode, TenantOverview } from "../ha/tenant-overview.ts";
import { systemClock } from "../lib/clock.ts";
import { CallerError, UpstreamError } from "../lib/errors.ts";
import { describeProgress } from "../wiring/cloud-node/node-status.ts";
import { sendControlCommand } from "../wiring/control-socket.ts";
import { requireDatabaseUrl } from "./database-url.ts";
import type { Terminal } from "./terminal.ts";

/** Their cloud notes each minute that appliances are there. */
const ONLINE_WITHIN_MS = 150_000;

interface ListOptions {
  database?: string;
  data?: string;
  appliances?: true;
  json?: true;
}

const DATABASE = ["--database <url>", "postgres://USER@HOST:PORT/DATABASE; no password in it"] as const;

/** `carillon hub-organisations`: whose clouds share a database, with their hosts, nodes and appliances. */
export function addTenants(program: Command, terminal: Terminal): void {
  const organisations = program
    .command("hub-organisations")
    .description("Say which organisations share a database, which nodes they have, and how their appliances are.")
    .enablePositionalOptions()
    .option(...DATABASE)
    .option("--data <dir>", "that of `hub --all-organisations` on this machine: how each one's process is")
    .option("--appliances", "each appliance on a line of its own")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon hub-organisations --database postgres://carillon@db.example.org/carillon --appliances\n\n" +
        "Nothing is written. The password comes by PGPASSWORD or PGPASSFILE, or the whole URL by CARILLON_DATABASE.",
    )
    .action((options: ListOptions) => list(options, terminal));
  organisations
    .command("add <name>")
    .description(
      "Give an organisation a host name, by which `hub --all-organisations` serves it; make it if it is new.",
    )
    .requiredOption("--host <name>", "such as district-a.example.org; takes the place of an earlier one")
    .option(...DATABASE)
    .addHelpText("after", "\nExample:\n  carillon hub-organisations add district-a --host district-a.example.org")
    .action(async (name: string, { host, database }: { host: string; database?: string }) => {
      await withHosts(urlOf(database, terminal), (hosts) => hosts.assign(name, host));
      terminal.out(`${host} leads to ${name}.`);
    });
  organisations
    .command("release <name>")
    .description("Take an organisation's host name away: it is not served any more, and all its rows stay.")
    .option(...DATABASE)
    .addHelpText("after", "\nExample:\n  carillon hub-organisations release district-a")
    .action(async (name: string, { database }: { database?: string }) => {
      await withHosts(urlOf(database, terminal), (hosts) => hosts.release(name));
      terminal.out(`No host name leads to ${name}.`);
    });
}

function urlOf(database: string | undefined, terminal: Terminal): string {
  const url = database ?? terminal.env.CARILLON_DATABASE ?? "";
  if (url === "") throw new CallerError("required", "Name the database by --database or CARILLON_DATABASE.");
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
  // Its driver is loaded where it is used alone.
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

/** Throws UpstreamError where nobody serves them. */
async function tenantStatuses(dataDir: string): Promise<TenantStatus[]> {
  const answered = await sendControlCommand(dataDir, { order: "organisations", args: {} });
  if (answered) return answered.result as TenantStatus[];
  const message = `Nobody serves the organisations in ${dataDir}. Start it: carillon hub --all-organisations --data ${dataDir} …`;
  throw new UpstreamError("starting", message, { dataDir });
}

type ListedTenant = TenantOverview & { process?: TenantStatus | null };

function tenantLines(one: ListedTenant, withAppliances: boolean, now: number): string[] {
  const there = one.appliances.filter(({ heardAt }) => now - heardAt <= ONLINE_WITHIN_MS);
  const behind = Math.max(0, ...one.appliances.map((each) => each.behind ?? 0));
  const versions = [...new Set(one.appliances.map(({ version }) => version ?? "?"))].sort();
  const nodes = one.nodes.length === 0 ? "no node runs" : one.nodes.map((node) => describeNode(node, one)).join(", ");
  return [
    `${one.name}  ${one.host ?? "no host name"}  ${nodes}`,
    ...(one.process === undefined ? [] : [`  process     ${describeProcess(one.process)}`]),
    `  appliances  ${one.appliances.length}, ${there.length} there; behind by ${behind} at most; ${versions.join(" ") || "-"}`,
    ...(withAppliances ? one.appliances.map((each) => `  ${describeAppliance(each, now)}`) : []),
  ];
}

function describeProcess(report: TenantStatus | null): string {
  if (!report) return "none here";
  const { state, since, work, pid, restarts, reason, connections, links } = report;
  const ended = reason === null ? "" : `; started again ${restarts} times, last ${reason}`;
  const at = `${state} since ${new Date(since).toISOString()}${pid === null ? "" : ` (${pid})`}`;
  const doing = work === null ? "" : `; ${describeProgress(work)}`;
  return `${at}, ${links ?? "?"} links up, ${connections} connections${ended}${doing}`;
}

/** Before anything is written there is nobody to stand by for. */
function describeNode({ name, acts }: TenantNode, { version }: TenantOverview): string {
  if (acts && version === null) return `${name} brings the first rows`;
  return `${name} ${acts ? "acts" : "stands by"}`;
}

function describeAppliance(
  { endpointId, name, version, heardAt, health, behind }: TenantAppliance,
  now: number,
): string {
  const heard = now - heardAt <= ONLINE_WITHIN_MS ? "there" : `away since ${new Date(heardAt).toISOString()}`;
  return `${name ?? endpointId}  ${heard}  ${version ?? "?"}  ${health ?? "?"}  behind by ${behind ?? "all"}`;
}
