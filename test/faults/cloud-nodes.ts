import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ApiClient, createApiClient } from "../../src/api-client/api-client.ts";
import { type InitOutput, type RunningDaemon, runCarillon, runInit, spawnDaemon } from "../support/carillon-process.ts";
import { type FailoverProxy, openFailoverProxy } from "../support/failover-proxy.ts";
import { createNetworkField, type NetworkField, type NetworkNamespace } from "./field/network-namespaces.ts";
import { openPostgresMachine } from "./postgres-database.ts";

/** A node of the cloud, in a process and a network of its own. */
interface Node {
  place: NetworkNamespace;
  dataDir: string;
  daemon: RunningDaemon | null;
}

/** A cloud of two nodes on one database, and two appliances, all linked. */
export interface Cloud {
  /** Through the one address, whoever acts. */
  api: ApiClient;
  sites: readonly ApiClient[];
  nodeKilledMs(): Promise<void>;
  databaseRestartedMs(round: number): Promise<void>;
  failedOverMs(): Promise<void>;
  /** Starts what was lost again, to stand by. */
  mend(): Promise<void>;
  /** Says what each node and appliance wrote down last. */
  tell(): void;
  end(): Promise<void>;
}

const API_PORT = 8_080;
const LINES_SHOWN = 60;
const LINE_SHOWN = 300;

/** Makes it in networks of its own, with all that is its own in `folder`. */
export async function openCloud(folder: string, say: (progress: string) => void): Promise<Cloud> {
  const field = createNetworkField();
  const database = await openPostgresMachine(field);
  const nodes: Node[] = ["north", "south"].map((name) => ({
    ...{ place: field.place(name), dataDir: join(folder, name), daemon: null },
  }));
  const [north, south] = nodes as [Node, Node];
  const first = await runInit(north.dataDir);
  mkdirSync(south.dataDir);
  copyFileSync(join(north.dataDir, "secret-key"), join(south.dataDir, "secret-key"));
  const start = async (node: Node): Promise<void> => {
    const config = settings(folder, field, node.place);
    const at = ["--data", node.dataDir, "--listen", `0.0.0.0:${API_PORT}`, "--config", config];
    node.daemon = await spawnDaemon(["hub", ...at, "--database", database.url], {}, node.place.inside);
  };
  await start(north);
  await start(south);
  const targets = nodes.map(({ place }) => ({ host: place.address.zones, port: API_PORT }));
  const wayIn = await openFailoverProxy(field.own, targets);
  say("one node acts, the other stands by");
  const sites: Site[] = [];
  for (const mode of ["adopt", "join"]) sites.push(await openSite(folder, field, mode, north.dataDir, wayIn));
  say("two appliances are linked");
  let killed: Node | null = null;
  return {
    ...{ api: createApiClient(urlOf(wayIn), first.token), sites: sites.map(({ api }) => api) },
    async nodeKilledMs() {
      killed = nodes.find(({ daemon }) => daemon && isActing(daemon)) ?? null;
      await killed?.daemon?.end("SIGKILL");
    },
    databaseRestartedMs: (round) => database.restart(round % 2 === 1 ? "crash" : "fast"),
    failedOverMs: () => database.failOver(),
    async mend() {
      if (killed) await start(killed);
      killed = null;
      await database.mend();
    },
    tell() {
      for (const { dataDir, daemon } of [...nodes, ...sites]) {
        if (daemon)
          say(`${dataDir}, ended: ${hasEnded(daemon)}, said: ${daemon.lines.join(" ")}\n${endOf(daemon.log())}`);
      }
    },
    async end() {
      for (const { daemon } of [...sites, ...nodes]) await daemon?.end("SIGKILL");
      wayIn.end();
      await database.end();
    },
  };
}

/** The last lines, each without what makes it very long. */
function endOf(log: string): string {
  const lines = log.trimEnd().split("\n").slice(-LINES_SHOWN);
  return lines.map((line) => line.slice(0, LINE_SHOWN)).join("\n");
}

function settings(folder: string, { own }: NetworkField, { name, address }: NetworkNamespace): string {
  const path = join(folder, `${name}.yaml`);
  const network = { multicastInterface: address.zones };
  // JSON is YAML. The nodes are known by the address in front of them.
  const all = { network, api: { hosts: [own] }, log: { level: "debug" }, backups: { schedule: null } };
  writeFileSync(path, JSON.stringify(all));
  return path;
}

function urlOf({ host, port }: FailoverProxy): string {
  return `http://${host}:${port}`;
}

/** The last thing that a node said of itself. */
function isActing(daemon: RunningDaemon): boolean {
  const last = daemon.lines.at(-1);
  return !hasEnded(daemon) && (last ? last.includes('"ready"') : daemon.url !== undefined);
}

function hasEnded({ child }: RunningDaemon): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

interface Site {
  api: ApiClient;
  dataDir: string;
  daemon: RunningDaemon;
}

async function openSite(
  folder: string,
  field: NetworkField,
  mode: string,
  hubDir: string,
  cloud: FailoverProxy,
): Promise<Site> {
  const dataDir = join(folder, mode);
  const place = field.place(mode);
  const own: InitOutput = await runInit(dataDir);
  const at = ["--data", dataDir, "--listen", `0.0.0.0:${API_PORT}`, "--config", settings(folder, field, place)];
  const daemon = await spawnDaemon(["serve", ...at], {}, place.inside);
  const { stdout } = await runCarillon(["link", "code", "--data", hubDir, "--json"]);
  const { code } = JSON.parse(stdout) as { code: string };
  const to = ["--hub", urlOf(cloud), "--code", code, "--mode", mode];
  const enrolled = await runCarillon(["link", "enrol", "--data", dataDir, ...to]);
  if (enrolled.code !== 0) throw new Error(enrolled.stderr);
  return { api: createApiClient(`http://${place.address.zones}:${API_PORT}`, own.token), dataDir, daemon };
}
