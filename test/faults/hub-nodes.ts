import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { ApiClient, ApiPage } from "../../src/api-client/api-client.ts";
import { type Cloud, openCloud } from "./cloud-nodes.ts";

/** What came of it. Times are ms from the mishap until a row that was written after it stood at both appliances. */
export interface HubNodesRun {
  rounds: number;
  /** Changes that were answered with success, at the cloud and at the appliances. */
  answered: number;
  /** Of those, rows that one side lacks at the end. */
  lost: number;
  /** Rows that stand twice somewhere. */
  doubled: number;
  nodeKilledMs: number[];
  databaseRestartedMs: number[];
  /** The database's machine was lost, and a replica took its place. */
  failedOverMs: number[];
  broken: string[];
}

interface Template {
  id: string;
  name: string;
}

const BACK_WITHIN_MS = 10_000;
const GIVEN_UP_MS = 90_000;
const LOOK_MS = 50;
const EVERY_MS = 60;

/** What happens in turn. */
const MISHAPS = [
  ["the node that acted was killed", "nodeKilledMs"],
  ["the database was restarted", "databaseRestartedMs"],
  ["the database was lost, and its replica promoted", "failedOverMs"],
] as const;

/**
 * Kills the node that acts, restarts the database and puts its replica in its place in turn, while the cloud and both
 * appliances are written to. Only where `inOwnNetwork` gave null, as root: a database's server does not run as one.
 */
export async function failNodes(rounds: number, say: (progress: string) => void): Promise<HubNodesRun> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-nodes-"));
  const run: HubNodesRun = {
    rounds,
    answered: 0,
    lost: 0,
    doubled: 0,
    nodeKilledMs: [],
    databaseRestartedMs: [],
    failedOverMs: [],
    broken: [],
  };
  const cloud = await openCloud(folder, say);
  try {
    // What an appliance makes before it has the organisation's rows stays its own.
    await seenEverywhere(cloud, "before all", performance.now());
    const writers = [cloud.api, ...cloud.sites].map((api, place) => keepWriting(api, `writer ${place}`));
    for (let round = 0; round < rounds; round += 1) {
      await pause(1_000);
      const began = performance.now();
      const [what, into] = MISHAPS[round % MISHAPS.length] as (typeof MISHAPS)[number];
      await cloud[into](round);
      const { writtenMs, backMs } = await seenEverywhere(cloud, `after ${round}`, began);
      run[into].push(backMs);
      say(
        `round ${round}: ${what}; the next row was written after ${writtenMs} ms, at both appliances after ${backMs} ms`,
      );
      if (backMs > BACK_WITHIN_MS) {
        run.broken.push(`round ${round}: ${what}, and it took ${backMs} ms`);
        cloud.tell();
      }
      await cloud.mend();
    }
    const made = (await Promise.all(writers.map((writer) => writer.stop()))).flat();
    run.answered = made.length;
    await compare(cloud, made, run);
  } finally {
    await cloud.end();
    rmSync(folder, { recursive: true, force: true });
  }
  return run;
}

/** Makes rows one after the other; what was refused or broke off may or may not be there. */
function keepWriting(api: ApiClient, who: string): { stop(): Promise<Template[]> } {
  const made: Template[] = [];
  let isStopped = false;
  const writing = (async () => {
    for (let number = 0; !isStopped; number += 1) {
      const row = { name: `${who} ${number}`, subject: "Drill", body: "This is a drill." };
      const answer = await api.post<Template>("/message-templates", row).catch(() => null);
      if (answer) made.push({ id: answer.id, name: row.name });
      await pause(EVERY_MS);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await writing;
      return made;
    },
  };
}

/** From `began` until a row is written, and until it stands at both appliances; Infinity when it never does. */
async function seenEverywhere(
  { api, sites }: Cloud,
  name: string,
  began: number,
): Promise<{ writtenMs: number; backMs: number }> {
  let made: Template | null = null;
  let tries = 0;
  let writtenMs = Number.POSITIVE_INFINITY;
  for (let isOver = false; !isOver; isOver = made !== null && (await areAllThere(sites, [made]))) {
    if (performance.now() - began > GIVEN_UP_MS) return { writtenMs, backMs: Number.POSITIVE_INFINITY };
    // What broke off may be there all the same: it must not look as if it stood twice.
    const row = { name: `${name}, try ${tries}`, subject: "Drill", body: "Back." };
    tries += made ? 0 : 1;
    made ??= await api.post<Template>("/message-templates", row).catch(() => null);
    if (made) writtenMs = Math.min(writtenMs, Math.round(performance.now() - began));
    else await pause(LOOK_MS);
  }
  return { writtenMs, backMs: Math.round(performance.now() - began) };
}

async function areAllThere(sites: readonly ApiClient[], rows: readonly Template[]): Promise<boolean> {
  for (const site of sites) {
    for (const { id } of rows) if (!(await site.get(`/message-templates/${id}`).catch(() => null))) return false;
  }
  return true;
}

/** All that was answered is on every side, once. */
async function compare({ api, sites }: Cloud, made: readonly Template[], run: HubNodesRun): Promise<void> {
  const sides = [api, ...sites];
  const until = performance.now() + GIVEN_UP_MS;
  let missing: string[] = [];
  do {
    missing = [];
    run.doubled = 0;
    for (const [place, side] of sides.entries()) {
      const all = await allTemplates(side);
      const names = new Set(all.map(({ name }) => name));
      const ids = new Set(all.map(({ id }) => id));
      // What comes twice under one name gets another one.
      run.doubled +=
        all.length - Math.min(names.size, ids.size) + all.filter(({ name }) => name.includes("(site")).length;
      for (const { id, name } of made)
        if (!ids.has(id)) missing.push(`${name} is not at ${place === 0 ? "the cloud" : `appliance ${place}`}`);
    }
    if (missing.length > 0) await pause(500);
  } while (missing.length > 0 && performance.now() < until);
  run.lost = missing.length;
  run.broken.push(...missing.slice(0, 20));
  if (run.doubled > 0) run.broken.push(`${run.doubled} rows stand twice`);
}

async function allTemplates(side: ApiClient): Promise<Template[]> {
  const all: Template[] = [];
  for (let start: string | null = ""; start !== null; ) {
    const page: ApiPage<Template> = await side.get(`/message-templates?limit=100${start && `&start=${start}`}`);
    all.push(...page.data);
    start = page.next;
  }
  return all;
}
