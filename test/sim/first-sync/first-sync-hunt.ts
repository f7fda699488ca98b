import { loadModuleWithBug } from "../bug-loader.ts";
import type { PlantedBug } from "../planted-bugs.ts";
import { FIRST_SYNC_BUGS } from "./first-sync-bugs.ts";
import { productCatalogue, runFirstSync } from "./first-sync-run.ts";
import { missingFrom } from "./row-graph.ts";

/** Planted bugs by name; `all` for all. */
export function selectFirstSyncBugs(name: string | undefined): PlantedBug[] {
  return FIRST_SYNC_BUGS.filter((bug) => name === "all" || bug.name === name);
}

export interface FirstSyncHunt {
  first: number;
  seeds: number;
  /** Bugs to plant, each in turn; none for the product as it is. */
  bugs: readonly PlantedBug[];
  /** No seed is started after this time. */
  minutes: number;
}

/** Runs first syncs by seed, adopting and joining, and prints the figures. False if anything was lost, or a bug was missed. */
export async function runFirstSyncs(hunt: FirstSyncHunt, say: (progress: string) => void): Promise<boolean> {
  if (hunt.bugs.length === 0) return runSeeds(hunt, say);
  const missed: string[] = [];
  for (const bug of hunt.bugs) {
    const entry = "test/sim/first-sync/first-sync-run.ts";
    const planted = await loadModuleWithBug<{ runFirstSync: typeof runFirstSync }>(bug, process.cwd(), entry);
    const found = await findViolation(planted.runFirstSync, hunt);
    say(`${bug.name}: ${found ?? "not caught"}`);
    if (found === null) missed.push(bug.name);
  }
  const { length: all } = hunt.bugs;
  process.stdout.write(`${JSON.stringify({ planted: all, caught: all - missed.length, missed })}\n`);
  return missed.length === 0;
}

async function findViolation(run: typeof runFirstSync, { first, seeds }: FirstSyncHunt): Promise<string | null> {
  for (let seed = first; seed < first + seeds; seed += 1) {
    for (const mode of ["adopt", "join"] as const) {
      const { violations } = await run(seed, { mode });
      if (violations[0] !== undefined) return `seed ${seed}, ${mode}: ${violations.length}: ${violations.at(-1)}`;
    }
  }
  return null;
}

async function runSeeds({ first, seeds, minutes }: FirstSyncHunt, say: (progress: string) => void): Promise<boolean> {
  const began = performance.now();
  const covered = new Set<string>();
  const all = { seeds: 0, runs: 0, rows: 0, cuts: 0, restarts: 0, late: 0, violations: 0 };
  for (let seed = first; seed < first + seeds && performance.now() - began < minutes * 60_000; seed += 1) {
    all.seeds += 1;
    for (const mode of ["adopt", "join"] as const) {
      const { violations, rows, figures, covered: of } = await runFirstSync(seed, { mode });
      for (const name of of) covered.add(name);
      for (const what of ["cuts", "restarts", "late"] as const) all[what] += figures[what];
      all.runs += 1;
      all.rows += rows;
      if (violations.length > 0) all.violations += 1;
      for (const violation of violations.slice(0, 5)) say(`seed ${seed}, ${mode}: ${violation.slice(0, 1_000)}`);
    }
    if (all.seeds % 50 === 0) say(`${all.seeds} of ${seeds} seeds, ${all.violations} violations`);
  }
  const missing = missingFrom(covered, await productCatalogue());
  if (missing.length > 0) say(`never made: ${missing.join(" ")}`);
  process.stdout.write(`${JSON.stringify({ ...all, neverMade: missing.length })}\n`);
  return all.violations === 0 && missing.length === 0;
}
