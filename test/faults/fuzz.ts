import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { Agent, request as send } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Action } from "../../src/http/action.ts";
import { servedActions } from "../../src/http/served-actions.ts";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import { BUILT_IN_DECLARATIONS, loadDeclarations } from "../../src/wiring/load-declarations.ts";
import {
  type InitOutput,
  LOOPBACK_SETTINGS,
  type RunningDaemon,
  runInit,
  serveAppliance,
} from "../support/carillon-process.ts";
import { createFuzz, type FuzzRequest, type KnownIds } from "./fuzz-requests.ts";
import { hostileInputs } from "./hostile-requests.ts";
import { readLoopStatistics, startIdle, withLoopMonitor } from "./loop-monitor.ts";

/** What a run came to. */
export interface FuzzRun {
  seed: number;
  requests: number;
  /** Answers by status; `0` counts connections that ended without one. */
  statuses: Record<string, number>;
  /** Requests answered with 5xx, as lines that can be sent again; at most 20. */
  faults: string[];
  /** True when the daemon was still the same process at the end. */
  alive: boolean;
  lagP99Ms: number;
  lagMaxMs: number;
  /** The same of a process that did nothing meanwhile. */
  machineLagP99Ms: number;
  /** From the end of the first tenth to the end. */
  growthBytes: number;
  seconds: number;
}

const CLIENTS = 16;
/** The daemon's own limits would answer most of it, and nothing may be called but this machine. */
export const SETTINGS = `${LOOPBACK_SETTINGS}api: {requestsPerMinute: {token: 0, address: 0}}\n`;

/** What would end the run by doing what it is for: leaving, slow hashes, streams without end, orders to the appliance. */
function isLeftOut({ method, at }: Action): boolean {
  if (method === "delete" && at === "session") return true;
  if (/^(login|first-run|token|authorize)/.test(at) || /password/.test(at)) return true;
  return (method === "post" && /endpoints\/\{endpointId\}\/activities$/.test(at)) || at === "events";
}

/** Sends `requests` requests that follow from `seed`, and every hostile one, to a daemon of its own. */
export async function fuzz(requests: number, seed: number, say: (progress: string) => void): Promise<FuzzRun> {
  const folder = await mkdtemp(join(tmpdir(), "carillon-fuzz-"));
  try {
    const first = await runInit(folder);
    const settings = join(folder, "settings.yaml");
    await writeFile(settings, SETTINGS);
    const pulse = join(folder, "pulse.json");
    const machinePulse = join(folder, "machine-pulse.json");
    const idle = await startIdle(machinePulse);
    const daemon = await withLoopMonitor(pulse, () => serveAppliance(folder, ["--config", settings]));
    try {
      return await run({ requests, seed, say, first, daemon, pulse, machinePulse });
    } finally {
      idle.stop();
      await daemon.end("SIGTERM");
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Run {
  requests: number;
  seed: number;
  say: (progress: string) => void;
  first: InitOutput;
  daemon: RunningDaemon;
  pulse: string;
  machinePulse: string;
}

async function run({ requests, seed, say, first, daemon, pulse, machinePulse }: Run): Promise<FuzzRun> {
  const catalogue = createCatalogue(await loadDeclarations([BUILT_IN_DECLARATIONS]));
  const make = createFuzz(
    servedActions(catalogue).filter((action) => !isLeftOut(action)),
    seed,
  );
  const ids = firstIds(first);
  const own = new Set([first.userId, first.token]);
  const statuses: Record<string, number> = {};
  const faults: string[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const began = Date.now();
  let next = 0;
  let growthFrom: number | null = null;

  const ask = async (request: FuzzRequest): Promise<void> => {
    const answer = await answerTo(request, daemon.url, first.token, agent);
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    if (answer.status >= 500 && faults.length < 20) faults.push(lineOf(request, answer));
    if (answer.status === 200 && request.method === "POST") remember(request, answer.text, ids);
  };
  const client = async (): Promise<void> => {
    while (next < requests && daemon.child.exitCode === null) {
      const number = next++;
      if (number === Math.floor(requests / 10)) growthFrom = (await readLoopStatistics(pulse)).rssBytes;
      if (number % 5_000 === 4_999) {
        const megabytes = Math.round((await readLoopStatistics(pulse)).rssBytes / 1e6);
        say(`${number + 1} of ${requests} requests, ${faults.length} faults, ${megabytes} MB`);
      }
      const request = make(number, ids);
      if (!endsItself(request, own)) await ask(request);
    }
  };
  await enablePlugins(daemon.url, first.token);
  await Promise.all(Array.from({ length: CLIENTS }, client));
  for (const { requests } of hostileInputs(first)) for (const request of requests) await ask(request);
  agent.destroy();
  // The last pulse is at most 0.2 s old.
  await new Promise((done) => setTimeout(done, 500));
  const { lagP99Ms, lagMaxMs, rssBytes } = await readLoopStatistics(pulse);
  return {
    seed,
    requests: next,
    statuses,
    faults,
    alive: daemon.child.exitCode === null && daemon.child.signalCode === null,
    lagP99Ms,
    lagMaxMs,
    machineLagP99Ms: (await readLoopStatistics(machinePulse)).lagP99Ms,
    growthBytes: rssBytes - (growthFrom ?? rssBytes),
    seconds: (Date.now() - began) / 1_000,
  };
}

/** Every plugin runs from the beginning: a request that switches one on would count its thread as growth. */
async function enablePlugins(url: string, token: string): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const extensions = await fetch(`${url}/api/v1/extensions`, { headers });
  for (const { id } of ((await extensions.json()) as { data: { id: string }[] }).data) {
    const enabled = await fetch(`${url}/api/v1/extensions/${id}`, {
      method: "PUT",
      headers,
      body: JSON.stringify({ disabled: false }),
    });
    if (!enabled.ok) throw new Error(`extension ${id} stays off: ${await enabled.text()}`);
  }
}

function firstIds({ userId, extensionId, endpointId, domainId }: InitOutput): KnownIds {
  return new Map([
    ["users", [userId]],
    ["extensions", [extensionId]],
    ["endpoints", [endpointId]],
    ["domains", [domainId]],
  ]);
}

/** The administrator who asks must stay. */
function endsItself({ method, target, body }: FuzzRequest, own: ReadonlySet<string>): boolean {
  if (method !== "PUT" && method !== "DELETE") return false;
  const text = body?.toString("utf8") ?? "";
  return (
    [...own].some((id) => target.includes(id) || text.includes(id)) || /\/(tokens|members|security-groups)/.test(target)
  );
}

/** Later requests name rows that earlier ones made. */
function remember({ target }: FuzzRequest, text: string, ids: KnownIds): void {
  const id = /"id":"([0-9a-f-]{36})"/.exec(text)?.[1];
  const collection = target.split("?", 1)[0]?.split("/").filter(Boolean).at(-1);
  if (!id || !collection) return;
  const known = ids.get(collection) ?? [];
  known.push(id);
  ids.set(collection, known.slice(-50));
}

/** The answer to a request as it stands; status 0 for a connection that ended without one. */
export function answerTo(
  { method, target, headers, body }: FuzzRequest,
  origin: string,
  token: string,
  agent: Agent,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve) => {
    const failed = (error: unknown): void => resolve({ status: 0, text: String(error) });
    try {
      const length = body === null ? {} : { "content-length": String(body.length) };
      const all = { authorization: `Bearer ${token}`, ...headers, ...length };
      const { hostname, port } = new URL(origin);
      const sent = send({ hostname, port, path: target, method, headers: all, agent });
      sent.on("error", failed);
      sent.on("response", (answer) => {
        let text = "";
        answer.setEncoding("latin1");
        answer.on("data", (part: string) => {
          if (text.length < 2_000) text += part;
        });
        answer.on("error", failed);
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
      });
      sent.end(body ?? undefined);
    } catch (error) {
      failed(error);
    }
  });
}

function lineOf(
  { method, target, headers, body }: FuzzRequest,
  { status, text }: { status: number; text: string },
): string {
  const sent = body === null ? "" : ` ${JSON.stringify(body.toString("utf8").slice(0, 600))}`;
  return `${status} ${method} ${target} ${JSON.stringify(headers)}${sent} -> ${text.slice(0, 300)}`;
}
