import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createApiClient } from "../../src/api-client/api-client.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { StoredFile } from "../../src/schema/field.ts";
import { productCatalogue } from "../sim/first-sync/first-sync-run.ts";
import { openProductNode, type ProductNode } from "../sim/first-sync/product-node.ts";
import { missingFrom, writeRowGraph } from "../sim/first-sync/row-graph.ts";
import { compareSides, coverageOf, type Snapshot, snapshotOf } from "../sim/first-sync/side-comparison.ts";
import { createRandomSource, type RandomSource } from "../sim/seeded-random.ts";
import {
  type InitOutput,
  LOOPBACK_SETTINGS,
  type RunningDaemon,
  runCarillon,
  runInit,
  spawnDaemon,
} from "../support/carillon-process.ts";
import { unusedPort } from "../support/free-port.ts";
import { SAMPLE_PNG } from "../support/sample-values.ts";
import { seedRows } from "../support/seed-rows.ts";
import { type LoopStatistics, readLoopStatistics, withLoopMonitor } from "./loop-monitor.ts";

export interface AdoptionPlan {
  rounds: number;
  seed: number;
  /** Rows of a resource at most, on each side. */
  rowsPerType: number;
}

/** Rows of a resource in all rounds together. */
export interface AdoptedType {
  type: string;
  /** Of the appliances and the clouds before and after. */
  siteBefore: number;
  hubBefore: number;
  site: number;
  hub: number;
  /** Rows that were lost, or differ. */
  faults: number;
}

export interface AdoptionFigures {
  rounds: number;
  rows: number;
  kills: number;
  /** Longest first sync. */
  longestMs: number;
  types: AdoptedType[];
  /** What was lost or differs, one line each. */
  lost: string[];
}

const FIRST_SYNC_MS = 180_000;
const LARGE_SYNC_MS = 1_800_000;
/** The appliance starts again after its enrolment, which loads all of its code. */
const RESTART_MS = 8_000;

/**
 * Appliances with random rows of all resources adopt and join clouds, in processes that are killed meanwhile, and are compared
 * afterwards. Every second one joins.
 */
export async function adoptAppliances(plan: AdoptionPlan, say: (progress: string) => void): Promise<AdoptionFigures> {
  const types = new Map<string, AdoptedType>();
  const figures = { rounds: 0, rows: 0, kills: 0, longestMs: 0 };
  const lost: string[] = [];
  const covered = new Set<string>();
  for (let round = 0; round < plan.rounds; round += 1) {
    const folder = mkdtempSync(join(tmpdir(), "carillon-adopt-"));
    const mode = round % 2 === 0 ? "adopt" : "join";
    try {
      const seed = plan.seed + round;
      const result = await adoptOnce({ folder, mode, random: createRandomSource(seed), plan });
      for (const name of result.covered) covered.add(name);
      addCounts(types, result);
      lost.push(...result.lost.map((line) => `seed ${seed}, ${mode}: ${line}`));
      figures.rounds += 1;
      figures.rows += result.before.site.size;
      figures.kills += result.kills;
      figures.longestMs = Math.max(figures.longestMs, Math.round(result.tookMs));
      say(
        `${mode} ${round + 1} of ${plan.rounds}: ${result.before.site.size} rows, ${result.lost.length} lost or unequal`,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  const missing = plan.rounds < 4 ? [] : missingFrom(covered, await productCatalogue());
  lost.push(...missing.map((name) => `never made: ${name}`));
  return { ...figures, types: [...types.values()], lost };
}

/** Lines of a table: rows before and after by resource. */
export function adoptionTable(types: readonly AdoptedType[]): string {
  const line = ({ type, siteBefore, hubBefore, site, hub, faults }: AdoptedType): string =>
    `| ${type} | ${siteBefore} | ${hubBefore} | ${site} | ${hub} | ${faults === 0 ? "yes" : "no"} | ${faults} |`;
  const sorted = [...types].sort((a, b) => (a.type < b.type ? -1 : 1));
  return [
    "| Resource | Appliance before | Cloud before | Appliance | Cloud | Equal | Lost |",
    "| --- | ---: | ---: | ---: | ---: | --- | ---: |",
    ...sorted.map(line),
  ].join("\n");
}

/** Turns of both event loops while an appliance with very many rows adopts an organisation, and the proof compares them. */
export interface LargeAdoption {
  rows: number;
  state: string;
  tookMs: number;
  hub: LoopStatistics;
  site: LoopStatistics;
}

/** An appliance with that many people adopts an empty organisation. */
export async function adoptManyRows(rows: number, say: (progress: string) => void): Promise<LargeAdoption> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-adopt-"));
  const [hubDir, siteDir, config] = [join(folder, "hub"), join(folder, "site"), join(folder, "carillon.yaml")];
  writeFileSync(config, LOOPBACK_SETTINGS);
  await runInit(hubDir);
  const own = await runInit(siteDir);
  seedRows(siteDir, { users: rows, devices: 0 });
  const start = async (name: string, command: string, dataDir: string): Promise<RunningDaemon> => {
    const listen = `127.0.0.1:${await unusedPort()}`;
    return withLoopMonitor(join(folder, name), () =>
      spawnDaemon([command, "--data", dataDir, "--listen", listen, "--config", config]),
    );
  };
  const hub = await start("hub.pulse", "hub", hubDir);
  const site = await start("site.pulse", "serve", siteDir);
  try {
    await enrol(siteDir, hubDir, hub, "adopt");
    await sleep(RESTART_MS);
    for (const { child } of [hub, site]) child.kill("SIGUSR2");
    say(`${rows} rows are on their way`);
    const began = performance.now();
    const state = await finishFirstSync(() => site.url, own, LARGE_SYNC_MS);
    const [hubTurns, siteTurns] = await Promise.all(
      ["hub.pulse", "site.pulse"].map((name) => readLoopStatistics(join(folder, name))),
    );
    const tookMs = Math.round(performance.now() - began);
    return { rows, state, tookMs, hub: hubTurns as LoopStatistics, site: siteTurns as LoopStatistics };
  } finally {
    await Promise.all([site.end("SIGKILL"), hub.end("SIGKILL")]);
    rmSync(folder, { recursive: true, force: true });
  }
}

interface AdoptionResult {
  before: Sides;
  after: Sides;
  lost: string[];
  covered: ReadonlySet<string>;
  kills: number;
  tookMs: number;
}

interface Sides {
  hub: Snapshot;
  site: Snapshot;
}

interface Adoption {
  folder: string;
  mode: "adopt" | "join";
  random: RandomSource;
  plan: AdoptionPlan;
}

async function adoptOnce({ folder, mode, random, plan }: Adoption): Promise<AdoptionResult> {
  const [hubDir, siteDir] = [join(folder, "hub"), join(folder, "site")];
  await runInit(hubDir);
  const own = await runInit(siteDir);
  const config = join(folder, "carillon.yaml");
  writeFileSync(config, LOOPBACK_SETTINGS);
  const serial = { next: 1_000 };
  const before = {
    hub: await fill({ dataDir: hubDir, isHub: true, random, serial, rowsPerType: plan.rowsPerType }),
    site: await fill({ dataDir: siteDir, isHub: false, random, serial, rowsPerType: plan.rowsPerType }),
  };
  const hubPort = await unusedPort();
  // It restarts by itself after the enrolment, and is asked at the same address.
  const sitePort = await unusedPort();
  const listen = (port: number | string): string[] => ["--listen", `127.0.0.1:${port}`, "--config", config];
  const startHub = (): Promise<RunningDaemon> => spawnDaemon(["hub", "--data", hubDir, ...listen(hubPort)]);
  const startSite = (): Promise<RunningDaemon> => spawnDaemon(["serve", "--data", siteDir, ...listen(sitePort)]);
  let hub = await startHub();
  let site = await startSite();
  let kills = 0;
  const began = performance.now();
  try {
    if (mode === "join") await enrolAnother(folder, hubDir, hub, config);
    await enrol(siteDir, hubDir, hub, mode);
    for (let event = 0; event < 2; event += 1) {
      await sleep(200 + random.below(1_500));
      kills += 1;
      if (random.happens(0.6)) {
        await site.end("SIGKILL");
        site = await startSite();
      } else {
        await hub.end("SIGKILL");
        hub = await startHub();
      }
    }
    const state = await finishFirstSync(() => site.url, own);
    const tookMs = performance.now() - began;
    await Promise.all([site.end("SIGTERM"), hub.end("SIGTERM")]);
    const lost = state === "complete" ? [] : [`the first sync is ${state}`];
    const compared = await compare(hubDir, siteDir, before, mode);
    return { before, ...compared, lost: [...lost, ...compared.lost], kills, tookMs };
  } finally {
    await Promise.all([site.end("SIGKILL"), hub.end("SIGKILL")]);
  }
}

interface Filling {
  dataDir: string;
  isHub: boolean;
  random: RandomSource;
  serial: { next: number };
  rowsPerType: number;
}

/** Writes random rows while no daemon runs. */
async function fill({ dataDir, isHub, random, serial, rowsPerType }: Filling): Promise<Snapshot> {
  const node = await openData(dataDir, isHub);
  const file = await storeSampleFile(node);
  const endpointId = isHub ? null : node.endpointId;
  await writeRowGraph({ ...node, random, endpointId, serial, storeFile: () => file }, rowsPerType);
  const rows = snapshotOf(node);
  await node.close();
  return rows;
}

async function openData(dataDir: string, isHub: boolean): Promise<ProductNode> {
  const catalogue = await productCatalogue();
  const failed = (error: unknown): never => {
    throw error;
  };
  return openProductNode({ catalogue, clock: systemClock, isHub, administrator: null, dataDir, failed });
}

async function storeSampleFile({ store }: ProductNode): Promise<StoredFile> {
  const bytes = (async function* () {
    yield SAMPLE_PNG;
  })();
  const upload = await store.files.put(bytes, { fileName: "sample.png", maxBytes: 10_000, types: ["*/*"] });
  return upload.file;
}

async function compare(
  hubDir: string,
  siteDir: string,
  before: Sides,
  mode: "adopt" | "join",
): Promise<Pick<AdoptionResult, "after" | "lost" | "covered">> {
  const [hub, site] = [await openData(hubDir, true), await openData(siteDir, false)];
  try {
    const { catalogue, endpointId } = site;
    return {
      after: { hub: snapshotOf(hub), site: snapshotOf(site) },
      lost: compareSides({ mode, catalogue, hub, site, before, endpointId, hasOwnHistory: true }),
      covered: coverageOf(before.site, catalogue),
    };
  } finally {
    await hub.close();
    await site.close();
  }
}

/** Only the first appliance of an organisation may adopt it, so that another one comes first. */
async function enrolAnother(folder: string, hubDir: string, hub: RunningDaemon, config: string): Promise<void> {
  const dataDir = join(folder, "other");
  const own = await runInit(dataDir);
  const listen = `127.0.0.1:${await unusedPort()}`;
  const other = await spawnDaemon(["serve", "--data", dataDir, "--listen", listen, "--config", config]);
  try {
    await enrol(dataDir, hubDir, hub, "join");
    await finishFirstSync(() => other.url, own);
  } finally {
    await other.end("SIGTERM");
  }
}

async function enrol(dataDir: string, hubDir: string, hub: RunningDaemon, mode: string): Promise<void> {
  const { stdout } = await runCarillon(["link", "code", "--data", hubDir, "--json"]);
  const { code } = JSON.parse(stdout) as { code: string };
  const to = ["--hub", hub.url, "--code", code, "--mode", mode];
  const enrolled = await runCarillon(["link", "enrol", "--data", dataDir, ...to]);
  if (enrolled.code !== 0) throw new Error(enrolled.stderr);
}

/** The state in which the first sync ends; `running` if it does not in time. */
async function finishFirstSync(url: () => string, { token }: InitOutput, limitMs = FIRST_SYNC_MS): Promise<string> {
  const until = performance.now() + limitMs;
  let state = "running";
  while (performance.now() < until && state === "running") {
    await sleep(500);
    // The appliance restarts after the enrolment.
    const link = await createApiClient(url(), token)
      .get<{ initialSync: { state: string } | null }>("/link")
      .catch(() => null);
    state = link?.initialSync?.state ?? "running";
  }
  // What came last, such as reports of the appliance, arrives, too.
  await sleep(6_000);
  return state;
}

function addCounts(types: Map<string, AdoptedType>, { before, after, lost }: AdoptionResult): void {
  const add = (rows: Snapshot, side: "siteBefore" | "hubBefore" | "site" | "hub"): void => {
    for (const { type } of rows.values()) {
      const empty = { type, siteBefore: 0, hubBefore: 0, site: 0, hub: 0, faults: 0 };
      const found = types.get(type) ?? empty;
      found[side] += 1;
      types.set(type, found);
    }
  };
  add(before.site, "siteBefore");
  add(before.hub, "hubBefore");
  add(after.site, "site");
  add(after.hub, "hub");
  for (const line of lost) {
    const found = types.get(/: ([a-z-]+)\//.exec(line)?.[1] ?? "");
    if (found) found.faults += 1;
  }
}
