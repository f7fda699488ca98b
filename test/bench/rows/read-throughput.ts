import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApiClient } from "../../../src/api-client/api-client.ts";
import { runInit, serveAppliance } from "../../support/carillon-process.ts";
import { atLeast, atMost, type BenchmarkFigure, type BenchmarkRow, median } from "../benchmark-row.ts";
import { type LoadFigures, measureGets, measurePosts } from "../http-load.ts";
import { startRawServer } from "../raw-server.ts";

const ROUNDS = 5;
const BURST_MS = 1_500;
const CLIENTS = 32;
const USERS = 1_000;
const PAGE = 100;

interface Target {
  url: string;
  headers: Record<string, string>;
}

/** What is read, each from the appliance and from the least that could answer. */
interface Scene {
  one: Target;
  rawOne: Target;
  list: Target;
  rawList: Target;
  /** A page of rows, each with a row within it. */
  embedded: Target;
  end(): Promise<void>;
}

type Loads = Record<Exclude<keyof Scene, "end">, LoadFigures[]>;

/** Rows 1 to 3 of the table of goals: asked by somebody whose permissions hold in one domain alone. */
export const readThroughput: BenchmarkRow = {
  number: 1,
  name: "reading, with token, permissions and domain",
  async measure(say) {
    const folder = mkdtempSync(join(tmpdir(), "carillon-bench-"));
    const scene = await openScene(folder);
    const loads: Loads = { one: [], rawOne: [], list: [], rawList: [], embedded: [] };
    try {
      for (let round = 0; round < ROUNDS; round++) {
        for (const name of Object.keys(loads) as (keyof Loads)[]) {
          loads[name].push(await measureGets(scene[name].url, scene[name].headers, CLIENTS, BURST_MS));
        }
        say(`round ${round + 1} of ${ROUNDS}`);
      }
    } finally {
      await scene.end();
      rmSync(folder, { recursive: true, force: true });
    }
    return figuresOf(loads);
  },
};

function figuresOf(loads: Loads): BenchmarkFigure[] {
  const rate = (name: keyof Loads): number => median(loads[name].map(({ perSecond }) => perSecond));
  const p99 = (name: keyof Loads): number => median(loads[name].map((load) => load.p99));
  const against = "node:http and prepared SQLite, without authentication";
  const unit = "a second";
  return [
    atLeast({ what: "a row by its id", ours: rate("one"), limit: rate("rawOne"), against, unit }, 0.4),
    atMost({ what: "a row by its id, p99", ours: p99("one"), limit: p99("rawOne"), against, unit: "ms" }, 4),
    atLeast({ what: `${PAGE} rows`, ours: rate("list"), limit: rate("rawList"), against, unit }, 0.75),
    atLeast(
      {
        what: `${PAGE} rows with rows within`,
        ours: rate("embedded"),
        limit: rate("list"),
        against: "the plain list",
        unit,
      },
      0.25,
    ),
  ];
}

async function openScene(folder: string): Promise<Scene> {
  const dataDir = join(folder, "data");
  const { token } = await runInit(dataDir);
  const daemon = await serveAppliance(dataDir);
  const raw = await startRawServer("raw-read-server", join(folder, "raw.db"), String(USERS));
  const api = createApiClient(daemon.url, token);
  const base = `${daemon.url}/api/v1`;
  const id = async (path: string, body: Record<string, unknown>): Promise<string> =>
    (await api.post<{ id: string }>(path, body)).id;
  const domain = await id("/domains", { name: "North" });
  const admin = { authorization: `Bearer ${token}` };
  await fill(`${base}/users?domain=${domain}`, admin);
  const userIds = (await api.get<{ data: { id: string }[] }>(`/users?domain=${domain}&limit=${PAGE}`)).data;
  const list = await id(`/distribution-lists?domain=${domain}`, { name: "Everybody" });
  for (const { id: userId } of userIds) await id(`/distribution-lists/${list}/user-subscriptions`, { userId });
  const reader = userIds[0]?.id as string;
  for (const spec of ["/users/*", "/distribution-lists/*"]) {
    await id(`/domains/${domain}/user-permissions`, { userId: reader, verb: "get", spec });
  }
  const own = (await api.post<{ token: string }>(`/users/${reader}/tokens`, { name: "bench" })).token;
  const headers = { authorization: `Bearer ${own}`, "x-service-domain": domain };
  const page = `limit=${PAGE}&include-total=false`;
  return {
    one: { url: `${base}/users/${userIds[1]?.id}`, headers },
    rawOne: { url: `${raw.url}/${raw.words[0]}`, headers: {} },
    list: { url: `${base}/users?${page}`, headers },
    rawList: { url: `${raw.url}/`, headers: {} },
    embedded: { url: `${base}/distribution-lists/${list}/user-subscriptions?${page}`, headers },
    async end() {
      await Promise.all([daemon.end("SIGTERM"), raw.stop()]);
    },
  };
}

async function fill(url: string, headers: Record<string, string>): Promise<void> {
  let made = 0;
  while (made < USERS) {
    await measurePosts(url, headers, CLIENTS, 100, () => ({
      name: `User ${made}`,
      email: `user-${made++}@example.org`,
    }));
  }
}
