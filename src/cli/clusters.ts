import type { Command } from "commander";
import { type ApiClient, listAll } from "../api-client/api-client.ts";
import { sleep, systemClock } from "../lib/clock.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";
import { EXIT } from "./exit-codes.ts";
import { printCommandError, type Terminal } from "./terminal.ts";

interface ClusterOptions extends ApplianceOptions {
  kind?: string;
}

interface Cluster {
  id: string;
  name: string;
}

interface ConnectionTest {
  ok: boolean;
  checks: { what: string; ok: boolean; needed: boolean; words: string; tookMs: number }[];
}

interface PhoneCache {
  state: "idle" | "reading" | "writing" | "failed" | "elsewhere";
  phones: number | null;
  registered: number | null;
  reason: string | null;
  rowsRead: number;
  phonesWritten: number;
  phonesToWrite: number;
}

const LOOK_EVERY_MS = 500;

/** `carillon clusters`: tries the connection to a cluster of call managers, and has its phones read. */
export function addClusters(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const clusters = program
    .command("clusters")
    .description("Call managers: try the connection, read the phones.")
    .addHelpText("after", "\nExample:\n  carillon clusters test Campus");
  const add = (name: string, description: string, example: string): Command =>
    addApplianceOptions(clusters.command(`${name} <cluster>`), terminal)
      .description(description)
      .addHelpText("after", `\nExample:\n  carillon clusters ${example}\n\nA cluster is named by its name or its id.`);
  const asking =
    (work: (api: ApiClient, cluster: Cluster, options: ClusterOptions, terminal: Terminal) => Promise<boolean>) =>
    async (name: string, options: ClusterOptions): Promise<void> => {
      const api = apiClientFrom(options, terminal);
      const cluster = (await listAll<Cluster>(api, "/callmgr-clusters")).find(
        (row) => row.name === name || row.id === name,
      );
      if (!cluster)
        return finish(
          printCommandError(terminal, {
            exitCode: EXIT.failure,
            message: `There is no cluster ${name}.`,
            next: "The console lists them at /clusters.",
          }),
        );
      finish((await work(api, cluster, options, terminal)) ? EXIT.ok : EXIT.failure);
    };
  add("test", "Try everything that reading the cluster needs, and say what is wrong.", "test Campus").action(
    asking(test),
  );
  add("read", "Read the phones of the cluster and follow it to its end.", "read Campus --kind delta")
    .option("--kind <kind>", "full: everything; delta: what changed; partial: who is registered", "full")
    .action(asking(read));
}

async function test(api: ApiClient, { id }: Cluster, _options: ClusterOptions, terminal: Terminal): Promise<boolean> {
  const tried = await api.post<ConnectionTest>(`/callmgr-clusters/${id}/connection-test`, {});
  for (const { what, ok, needed, words, tookMs } of tried.checks) {
    const mark = ok ? "ok" : needed ? "FAILED" : "not there";
    terminal.err(`${mark.padEnd(9)} ${what.padEnd(8)} ${words} (${tookMs} ms)`);
  }
  terminal.out(JSON.stringify(tried));
  return tried.ok;
}

async function read(api: ApiClient, { id }: Cluster, { kind }: ClusterOptions, terminal: Terminal): Promise<boolean> {
  const path = `/callmgr-clusters/${id}/phone-cache`;
  let now = await api.post<PhoneCache>(path, { kind });
  let said = "";
  while (now.state === "reading" || now.state === "writing") {
    await sleep(systemClock, LOOK_EVERY_MS);
    now = await api.get<PhoneCache>(path);
    const words =
      now.state === "writing"
        ? `${now.phonesWritten} of ${now.phonesToWrite} phones written`
        : `${now.rowsRead} rows read`;
    if (words !== said && now.state !== "idle") terminal.err(words);
    said = words;
  }
  if (now.reason !== null) terminal.err(now.reason);
  else terminal.err(`${now.phones} phones, ${now.registered} of them registered`);
  terminal.out(JSON.stringify(now));
  return now.state === "idle";
}
