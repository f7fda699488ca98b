import type { Command } from "commander";
import { type ApiClient, listAll } from "../api-client/api-client.ts";
import { sleep, systemClock } from "../lib/clock.ts";
import { EXIT } from "../lib/exit-codes.ts";
import type { Terminal } from "../lib/terminal.ts";
import { type ApplianceOptions, addApplianceOptions, apiClientFrom } from "./appliance-options.ts";
import { counted } from "./counted.ts";
import { printCommandError } from "./terminal.ts";

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

const POLL_INTERVAL_MS = 500;

/** `carillon clusters`: tests the connection to a call manager cluster and imports its phones. */
export function addClusters(program: Command, terminal: Terminal, finish: (exitCode: number) => void): void {
  const clusters = program
    .command("clusters")
    .description("Call managers: test the connection, import the phones.")
    .addHelpText("after", "\nExample:\n  carillon clusters test Campus");
  const add = (name: string, description: string, example: string): Command =>
    addApplianceOptions(clusters.command(`${name} <cluster>`), terminal)
      .description(description)
      .addHelpText("after", `\nExample:\n  carillon clusters ${example}\n\nName a cluster by its name or id.`);
  const withCluster =
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
            message: `Cluster ${name} not found.`,
            next: "The console lists them at /clusters.",
          }),
        );
      finish((await work(api, cluster, options, terminal)) ? EXIT.ok : EXIT.failure);
    };
  add("test", "Test everything that reading the cluster needs and report what fails.", "test Campus").action(
    withCluster(test),
  );
  add("read", "Import the phones of the cluster and wait for the end.", "read Campus --kind delta")
    .option("--kind <kind>", "full: everything; delta: changes only; partial: registration state only", "full")
    .action(withCluster(read));
}

async function test(api: ApiClient, { id }: Cluster, _options: ClusterOptions, terminal: Terminal): Promise<boolean> {
  const result = await api.post<ConnectionTest>(`/callmgr-clusters/${id}/connection-test`, {});
  for (const { what, ok, needed, words, tookMs } of result.checks) {
    const mark = ok ? "ok" : needed ? "FAILED" : "missing";
    terminal.err(`${mark.padEnd(9)} ${what.padEnd(8)} ${words} (${tookMs} ms)`);
  }
  terminal.out(JSON.stringify(result));
  return result.ok;
}

async function read(api: ApiClient, { id }: Cluster, { kind }: ClusterOptions, terminal: Terminal): Promise<boolean> {
  const path = `/callmgr-clusters/${id}/phone-cache`;
  let cache = await api.post<PhoneCache>(path, { kind });
  let printed = "";
  while (cache.state === "reading" || cache.state === "writing") {
    await sleep(systemClock, POLL_INTERVAL_MS);
    cache = await api.get<PhoneCache>(path);
    const progress =
      cache.state === "writing"
        ? `${cache.phonesWritten} of ${counted(cache.phonesToWrite ?? 0, "phone")} written`
        : `${counted(cache.rowsRead, "row")} read`;
    if (progress !== printed && cache.state !== "idle") terminal.err(progress);
    printed = progress;
  }
  if (cache.reason !== null) terminal.err(cache.reason);
  else terminal.err(`${counted(cache.phones ?? 0, "phone")}, ${cache.registered} of them registered`);
  terminal.out(JSON.stringify(cache));
  return cache.state === "idle";
}
