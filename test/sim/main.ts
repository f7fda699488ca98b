/**
 * `npm run sim -- [--seeds N] [--first S] [--steps N] [--workers N] [--minutes M]`: simulates two appliances and a cloud under
 * disconnections, crashes, restores and wrong clocks: N (2000) seeds from S (1) with N (1200) steps each, on all cores or with
 * as many workers. Starts no seed after M minutes. Every tenth seed uses SQLite files. A seed that violates an invariant is
 * reported at once; the others continue.
 * `--store postgres`: every seed has its own PostgreSQL schema for the cloud's rows (Debian's `postgresql`), and three nodes
 * lead in turn: they are killed within commits and lose their replicas, and connections break at a COMMIT. `--store sqlite`
 * and `--store memory` use that store for every seed.
 * `--bug NAME` plants a bug, `--bug all` each in turn, and prints a table of what caught it after how many seeds. The exit
 * code is 0 if each was caught within the seeds. Some need PostgreSQL.
 * `--catch-up`: an appliance on real files reconnects after three days and 100,000 changes to 10,000 rows, and either side is
 * restored from a backup of the day before.
 * `--malicious`: an appliance sends 400 arbitrary rows per seed to a cloud with the real declarations, checks and hooks. It must
 * gain no access outside its domains, read no rows of others, and get no permission. `--bug NAME|all` opens a hole that it must use within the seeds.
 * `--first-sync`: an appliance with random rows of every resource adopts or joins an organisation, one run of each per seed; use
 * `--seeds N`. Both sides must be equal afterwards. `--bug NAME|all` plants a bug that must be found within the seeds.
 * `--all`: the seeds, then all bugs (at most 2000 seeds each), then the catch-up.
 * The last line has the figures. Exit code 1 if an invariant was violated.
 */

import { availableParallelism } from "node:os";
import { readArguments } from "../support/harness-arguments.ts";
import { startPostgres } from "../support/postgres.ts";
import { type BugHuntResult, huntBugs, requirePostgres, selectBugs } from "./bug-hunt.ts";
import { runFirstSyncs, selectFirstSyncBugs } from "./first-sync/first-sync-hunt.ts";
import { APPLIANCE_BUGS, runMaliciousAppliance } from "./malicious-appliance.ts";
import { runRecoveryScenarios } from "./recovery.ts";
import { addStatistics, emptyStatistics } from "./run-statistics.ts";
import { createSeedWorkerPool, type SeedTask, type StorageBackend } from "./seed-workers.ts";

const { values, positionals } = readArguments("sim", {
  seeds: { type: "string", default: "2000" },
  first: { type: "string", default: "1" },
  steps: { type: "string", default: "1200" },
  workers: { type: "string", default: String(availableParallelism()) },
  minutes: { type: "string", default: "100000" },
  store: { type: "string" },
  bug: { type: "string" },
  "catch-up": { type: "boolean", default: false },
  malicious: { type: "boolean", default: false },
  "first-sync": { type: "boolean", default: false },
  all: { type: "boolean", default: false },
});
const numbers = [values.seeds, values.first, values.steps, values.workers, values.minutes].map(Number);
const [seeds, first, steps, workers, minutes] = numbers as [number, number, number, number, number];
const bugs = values.malicious || values["first-sync"] ? [] : selectBugs(values.all ? "all" : (values.bug ?? ""));
const holes = values.malicious ? selectHoles(values.bug) : [];
const firstSyncBugs = values["first-sync"] ? selectFirstSyncBugs(values.bug) : [];
if (
  positionals.length > 0 ||
  !numbers.every((number) => Number.isInteger(number) && number > 0) ||
  (values.bug !== undefined && bugs.length + holes.length + firstSyncBugs.length === 0) ||
  !["memory", "sqlite", "postgres", undefined].includes(values.store)
) {
  process.stderr.write(
    "Usage: npm run sim -- [--seeds N] [--first S] [--steps N] [--workers N] [--minutes M] [--store memory|sqlite|postgres] [--bug NAME|all | --catch-up | --all | --malicious [--bug NAME|all] | --first-sync [--bug NAME|all]]\nSee: npm run sim -- --help\n",
  );
  process.exit(2);
}
const MAX_BUG_SEEDS = 2_000;
const say = (progress: string): void => void process.stderr.write(`${progress}\n`);
const server = values.store === "postgres" || requirePostgres(bugs) ? await postgresOrEnd() : null;
const crew = createSeedWorkerPool(workers);
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(
    signal,
    () =>
      void crew
        .close()
        .then(() => server?.stop())
        .finally(() => process.exit(130)),
  );
const isKept = await (values.malicious
  ? runAttacks()
  : values["first-sync"]
    ? runFirstSyncs({ first, seeds, bugs: firstSyncBugs, minutes }, say)
    : values.all
      ? runAll()
      : values["catch-up"]
        ? runCatchUp()
        : values.bug
          ? hunt()
          : runSeeds());
await crew.close();
await server?.stop();
process.exitCode = isKept ? 0 : 1;

async function postgresOrEnd(): ReturnType<typeof startPostgres> {
  try {
    return await startPostgres();
  } catch (error) {
    // It says what to install.
    say((error as Error).message);
    process.exit(2);
  }
}

function placeOf(seed: number): StorageBackend {
  if (values.store === "postgres") return { postgres: server?.url ?? "" };
  if (values.store === "memory" || values.store === "sqlite") return values.store;
  return seed % 10 === 0 ? "sqlite" : "memory";
}

async function runAll(): Promise<boolean> {
  const all = await figuresOfSeeds();
  const found = await huntBugs(bugs, { first, steps, seeds: MAX_BUG_SEEDS, postgres: server?.url ?? null }, crew, say);
  const back = await runRecoveryScenarios(say);
  const { missed, equivalent, bugs: planted, caught } = found;
  const isOver = { broken: back.broken.length, planted, caught, missed, equivalent };
  process.stdout.write(`${JSON.stringify({ ...all.figures, ...isOver })}\n`);
  return all.isKept && areAllCaught(found) && back.broken.length === 0;
}

function selectHoles(name: string | undefined): readonly string[] {
  const all = APPLIANCE_BUGS;
  return name === "all" ? all : all.filter((each) => each === name);
}

async function runAttacks(): Promise<boolean> {
  const missed: string[] = [];
  for (const hole of holes) {
    const { gains, ...counts } = await attack(hole);
    say(`${hole}: ${gains[0] ?? "not caught"} (${counts.seeds} seeds)`);
    if (gains.length === 0) missed.push(hole);
  }
  if (holes.length > 0) {
    process.stdout.write(
      `${JSON.stringify({ planted: holes.length, caught: holes.length - missed.length, missed })}\n`,
    );
    return missed.length === 0;
  }
  const { gains, ...counts } = await attack(null);
  for (const gain of gains) say(gain);
  process.stdout.write(`${JSON.stringify({ ...counts, gains: gains.length })}\n`);
  return gains.length === 0;
}

/** Runs seeds until the first that gains something with a hole; all without one. */
async function attack(hole: string | null) {
  const all = { seeds: 0, sent: 0, read: 0, effective: 0, failedPages: 0, gains: [] as string[] };
  for (let seed = first; seed < first + seeds && (hole === null || all.gains.length === 0); seed += 1) {
    const { gains, sent, read, effective, failedPages } = await runMaliciousAppliance(seed, 400, hole);
    all.seeds += 1;
    all.sent += sent;
    all.read += read;
    all.effective += effective;
    all.failedPages += failedPages;
    all.gains.push(...gains.map((gain) => `seed ${seed}: ${gain}`));
    if (hole === null && all.seeds % 50 === 0) say(`${all.seeds} of ${seeds} seeds, ${all.gains.length} gains`);
  }
  return all;
}

async function runCatchUp(): Promise<boolean> {
  const { broken, ...figures } = await runRecoveryScenarios(say);
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  return broken.length === 0;
}

async function runSeeds(): Promise<boolean> {
  const { figures, isKept: areKept } = await figuresOfSeeds();
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  return areKept;
}

async function figuresOfSeeds(): Promise<{ isKept: boolean; figures: object }> {
  const all = emptyStatistics();
  const began = performance.now();
  let ran = 0;
  let violations = 0;
  const tasks = Array.from({ length: seeds }, (_, at): SeedTask => {
    const seed = first + at;
    return { seed, steps, place: placeOf(seed), planted: null };
  });
  await crew.inOrder(tasks, ({ seed }, { figures, violation }) => {
    addStatistics(all, figures);
    ran += 1;
    if (violation !== null) {
      violations += 1;
      say(`seed ${seed}: ${violation}`);
    }
    if (ran % 500 === 0) say(`${ran} seeds up to ${seed}`);
    return performance.now() - began < minutes * 60_000;
  });
  const seedsPerSecond = Number(((1000 * ran) / (performance.now() - began)).toFixed(1));
  return { isKept: violations === 0, figures: { seeds: ran, steps, violations, ...all, seedsPerSecond } };
}

async function hunt(): Promise<boolean> {
  const found = await huntBugs(bugs, { first, seeds, steps, postgres: server?.url ?? null }, crew, say);
  process.stdout.write(`${JSON.stringify(found)}\n`);
  return areAllCaught(found);
}

function areAllCaught({ bugs: planted, caught, equivalent }: BugHuntResult): boolean {
  return caught + equivalent.length === planted;
}
