import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type ApiClient, createApiClient } from "../../../src/api-client/api-client.ts";
import { CallerError, UpstreamError } from "../../../src/lib/errors.ts";
import {
  type InitOutput,
  type RunningDaemon,
  runCarillon,
  runInit,
  spawnDaemon,
} from "../../support/carillon-process.ts";
import { type AdjustableClock, createAdjustableClock } from "../set-clock.ts";
import type { NetworkField, NetworkNamespace } from "./network-namespaces.ts";

/** The cloud or an appliance: a real daemon at a place of its own. */
export interface FieldMember {
  name: string;
  place: NetworkNamespace;
  dataDir: string;
  first: InitOutput;
  api: ApiClient;
  /** DELETE; rejects as `api` does. Resolves with true. */
  remove(path: string): Promise<true>;
  /** Null where libfaketime is not there. */
  clock: AdjustableClock | null;
  /** Has other commands look at the same clock. */
  clockEnv: NodeJS.ProcessEnv;
  readonly state: "up" | "frozen" | "down";
  start(): Promise<void>;
  /** Ends it; SIGKILL also ends one that stands still. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<void>;
  /** SIGSTOP and SIGCONT. */
  freeze(): void;
  thaw(): void;
  log(): string;
}

/** A cloud with its appliances, all linked. */
export interface FieldMembers {
  hub: FieldMember;
  /** The first one's rows became the organisation's. */
  sites: readonly [FieldMember, FieldMember];
  end(): Promise<void>;
}

/** What the members are made of. */
export interface FieldMembersDeps {
  field: NetworkField;
  folder: string;
  /** Path of libfaketime; null leaves clocks as they are. */
  faketime: string | null;
}

const API_PORT = 8_080;
const LAN_PORT = 7_400;
const LOOK_MS = 100;
const LINKED_MS = 60_000;
const ANSWER_MS = 30_000;

/** Sets up a cloud and two appliances that cover for each other, starts and links them. */
export async function openFieldMembers(needs: FieldMembersDeps): Promise<FieldMembers> {
  const places = ["hub", "east", "west"].map((name) => needs.field.place(name)) as [
    NetworkNamespace,
    NetworkNamespace,
    NetworkNamespace,
  ];
  const [hub, east, west] = (await Promise.all(
    places.map((place, at) => makeMember(needs, place, at === 0 ? null : (places[3 - at] as NetworkNamespace))),
  )) as [FieldMember, FieldMember, FieldMember];
  const all = [hub, east, west];
  const end = async (): Promise<void> => {
    await Promise.all(all.map((member) => member.end("SIGKILL")));
  };
  try {
    await Promise.all(all.map((member) => member.start()));
    await enrol(hub, east, "adopt");
    await enrol(hub, west, "join");
  } catch (error) {
    await end();
    throw new Error(`${String(error)}\n${all.map((member) => member.log()).join("\n")}`);
  }
  return { hub, sites: [east, west], end };
}

async function makeMember(
  { folder, faketime }: FieldMembersDeps,
  place: NetworkNamespace,
  neighbour: NetworkNamespace | null,
): Promise<FieldMember> {
  const { name } = place;
  const home = join(folder, name);
  mkdirSync(home);
  const [dataDir, config] = [join(home, "data"), join(home, "carillon.yaml")];
  const failover = neighbour && {
    listen: `${place.address.lan}:${LAN_PORT}`,
    peers: [`${neighbour.address.lan}:${LAN_PORT}`],
  };
  const settings = {
    network: { multicastInterface: place.address.zones },
    tls: { listen: null },
    backups: { schedule: null },
    ...(failover && { failover }),
  };
  // JSON is YAML.
  writeFileSync(config, JSON.stringify(settings));
  const first = await runInit(dataDir);
  const clock = faketime === null ? null : createAdjustableClock(join(home, "clock"), 0);
  const env = clock ? { ...clock.env, LD_PRELOAD: faketime as string } : {};
  const kind = neighbour ? "serve" : "hub";
  const args = [kind, "--data", dataDir, "--config", config, "--listen", `0.0.0.0:${API_PORT}`];
  const url = `http://${place.address.zones}:${API_PORT}`;
  let daemon: RunningDaemon | null = null;
  let before = "";
  let isFrozen = false;
  return {
    ...{ name, place, dataDir, first, clock, clockEnv: env },
    ...{ api: createApiClient(url, first.token), remove: (path) => remove(`${url}/api/v1${path}`, first.token) },
    get state() {
      if (!daemon) return "down";
      return isFrozen ? "frozen" : "up";
    },
    async start() {
      daemon = await spawnDaemon(args, env, place.inside);
    },
    async end(signal) {
      const ended = daemon;
      daemon = null;
      isFrozen = false;
      await ended?.end(signal);
      before = `${before}${ended?.log() ?? ""}`.slice(-262_144);
    },
    freeze() {
      isFrozen = daemon?.child.kill("SIGSTOP") ?? false;
    },
    thaw() {
      isFrozen = false;
      daemon?.child.kill("SIGCONT");
    },
    log: () => `${before}${daemon?.log() ?? ""}`,
  };
}

async function remove(url: string, token: string): Promise<true> {
  const headers = { authorization: `Bearer ${token}` };
  const asked = fetch(url, { method: "DELETE", headers, signal: AbortSignal.timeout(ANSWER_MS) });
  const { ok, status } = await asked.catch((error: unknown) => {
    throw new UpstreamError("upstream", `${url} does not answer.`, {}, error);
  });
  if (ok) return true;
  const message = `DELETE ${url}: ${status}`;
  throw status >= 500 ? new UpstreamError("upstream", message) : new CallerError("invalid-value", message);
}

async function enrol(hub: FieldMember, site: FieldMember, mode: "adopt" | "join"): Promise<void> {
  const { code } = JSON.parse(await carillon("link", "code", "--data", hub.dataDir, "--json")) as { code: string };
  const url = `http://${hub.place.address.wan}:${API_PORT}`;
  await carillon("link", "enrol", "--data", site.dataDir, "--hub", url, "--code", code, "--mode", mode);
  await waitUntilLinked(site, LINKED_MS);
}

/** Resolves once the appliance's link stands. Throws an Error when that takes too long. */
export async function waitUntilLinked(site: FieldMember, maxMs: number): Promise<void> {
  const until = performance.now() + maxMs;
  let said = "";
  while (performance.now() < until) {
    const { code, stdout, stderr } = await runCarillon(["link", "status", "--data", site.dataDir, "--json"]);
    said = `${stdout}${stderr}`;
    if (code === 0 && (JSON.parse(stdout) as { mode: string }).mode === "cloud") return;
    await pause(LOOK_MS);
  }
  throw new Error(`${site.name} was not linked within ${maxMs} ms: ${said}`);
}

async function carillon(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCarillon(args);
  if (code !== 0) throw new Error(`carillon ${args.slice(0, 2).join(" ")} ended with ${code}: ${stderr}`);
  return stdout;
}
