import type { Command } from "commander";
import { systemClock } from "../base/clock.ts";
import { CallerError } from "../base/errors.ts";
import type { OverviewAppliance, OverviewNode, OverviewOrganisation } from "../replication/hub/postgres/overview.ts";
import { requireDatabaseUrl } from "./database-url.ts";
import type { Terminal } from "./terminal.ts";

/** Their cloud notes each minute that appliances are there. */
const THERE_WITHIN_MS = 150_000;

/** `carillon hub-organisations`: whose clouds share a database, with their nodes and appliances. */
export function addHubOrganisations(program: Command, terminal: Terminal): void {
  program
    .command("hub-organisations")
    .description("Say which organisations share a database, which nodes they have, and how their appliances are.")
    .option("--database <url>", "postgres://USER@HOST:PORT/DATABASE; no password in it")
    .option("--appliances", "each appliance on a line of its own")
    .option("--json", "print one line of JSON")
    .addHelpText(
      "after",
      "\nExample:\n  carillon hub-organisations --database postgres://carillon@db.example.org/carillon --appliances\n\n" +
        "Nothing is written. The password comes by PGPASSWORD or PGPASSFILE, or the whole URL by CARILLON_DATABASE.",
    )
    .action(async ({ database, appliances, json }: { database?: string; appliances?: true; json?: true }) => {
      const url = database ?? terminal.env.CARILLON_DATABASE ?? "";
      if (url === "") throw new CallerError("required", "Name the database by --database or CARILLON_DATABASE.");
      requireDatabaseUrl(url, database);
      // Its driver is loaded where it is used alone.
      const { overviewOf } = await import("../replication/hub/postgres/overview.ts");
      const all = await overviewOf(url, systemClock);
      if (json) return terminal.out(JSON.stringify(all));
      const now = systemClock.now();
      for (const line of all.flatMap((one) => linesOf(one, appliances === true, now))) terminal.out(line);
    });
}

function linesOf(one: OverviewOrganisation, withAppliances: boolean, now: number): string[] {
  const there = one.appliances.filter(({ heardAt }) => now - heardAt <= THERE_WITHIN_MS);
  const behind = Math.max(0, ...one.appliances.map((each) => each.behind ?? 0));
  const versions = [...new Set(one.appliances.map(({ version }) => version ?? "?"))].sort();
  const nodes = one.nodes.length === 0 ? "no node runs" : one.nodes.map(nodeWords).join(", ");
  return [
    `${one.name}  ${nodes}`,
    `  appliances  ${one.appliances.length}, ${there.length} there; behind by ${behind} at most; ${versions.join(" ") || "-"}`,
    ...(withAppliances ? one.appliances.map((each) => `  ${applianceWords(each, now)}`) : []),
  ];
}

function nodeWords({ name, acts }: OverviewNode): string {
  return `${name} ${acts ? "acts" : "stands by"}`;
}

function applianceWords(
  { endpointId, name, version, heardAt, health, behind }: OverviewAppliance,
  now: number,
): string {
  const heard = now - heardAt <= THERE_WITHIN_MS ? "there" : `away since ${new Date(heardAt).toISOString()}`;
  return `${name ?? endpointId}  ${heard}  ${version ?? "?"}  ${health ?? "?"}  behind by ${behind ?? "all"}`;
}
