import { FAILOVER_BUGS } from "../faults/failover-bugs.ts";
import { buildWithBug } from "./bug-loader.ts";
import { PLANTED_BUGS, type PlantedBug } from "./planted-bugs.ts";
import { POSTGRES_BUGS } from "./postgres-bugs.ts";
import type { SeedWorkerPool, StorageBackend } from "./seed-workers.ts";

/** What a hunt for planted bugs came to. */
export interface BugHuntResult {
  bugs: number;
  caught: number;
  missed: string[];
  /** Those in which nobody could tell the difference. */
  equivalent: string[];
  /** Most seeds that one of them took. */
  maxSeeds: number;
}

/** What became of one of them: the seeds that it took, null where it was not caught, and by what, or why not. */
interface BugResult {
  name: string;
  seeds: number | null;
  how: string;
}

/** The seeds that may be run for each bug, and where a PostgreSQL is, for those that need one. */
export interface BugHuntOptions {
  first: number;
  seeds: number;
  steps: number;
  postgres: string | null;
}

interface BugTarget {
  bug: PlantedBug;
  /** The module in which it is found. */
  entry: string;
}

/** Where those bugs are found that live in what keeps a cloud's rows in PostgreSQL. */
const ON_POSTGRES = "test/sim/postgres-run.ts";

/** The planted bugs of this name, or all of them; those of the failover are found around bells. */
export function selectBugs(name: string): BugTarget[] {
  const all = [
    ...PLANTED_BUGS.map((bug) => ({ bug, entry: "test/sim/simulation.ts" })),
    ...POSTGRES_BUGS.map((bug) => ({ bug, entry: ON_POSTGRES })),
    ...FAILOVER_BUGS.map((bug) => ({ bug, entry: "test/faults/failover.ts" })),
  ];
  return all.filter(({ bug }) => name === "all" || bug.name === name);
}

/** Whether one of them shows itself with a real database alone. */
export function requirePostgres(bugs: readonly BugTarget[]): boolean {
  return bugs.some(({ entry }) => entry === ON_POSTGRES);
}

/** Plants each bug in turn and runs seeds, at most `seeds` of them, until one breaks a promise; ends with a table. */
export async function huntBugs(
  bugs: readonly BugTarget[],
  run: BugHuntOptions,
  crew: SeedWorkerPool,
  say: (progress: string) => void,
): Promise<BugHuntResult> {
  const all: BugResult[] = [];
  for (const planted of bugs) {
    const found = await huntBug(planted, run, crew);
    all.push(found);
    say(formatResult(found));
  }
  say([`${"seeds".padStart(6)}  bug`, ...all.map(formatResult)].join("\n"));
  const equivalent = bugs.flatMap(({ bug }) => (bug.equivalent ? [bug.name] : []));
  const caught = all.flatMap(({ seeds }) => seeds ?? []);
  const missed = all.flatMap(({ name, seeds }) => (seeds === null && !equivalent.includes(name) ? [name] : []));
  return { bugs: bugs.length, caught: caught.length, missed, equivalent, maxSeeds: Math.max(0, ...caught) };
}

async function huntBug(
  { bug, entry }: BugTarget,
  { first, seeds, steps, postgres }: BugHuntOptions,
  crew: SeedWorkerPool,
): Promise<BugResult> {
  const { name, equivalent } = bug;
  if (equivalent) return { name, seeds: null, how: `no different: ${equivalent}` };
  const { module, remove } = await buildWithBug(bug, process.cwd(), entry);
  const place: StorageBackend = entry === ON_POSTGRES && postgres ? { postgres } : "memory";
  const of = { steps, place, planted: module };
  const tasks = Array.from({ length: seeds }, (_, at) => ({ ...of, seed: first + at }));
  let found: BugResult = { name, seeds: null, how: "NOT CAUGHT" };
  await crew.inOrder(tasks, ({ seed }, { violation }) => {
    if (violation === null) return true;
    found = { name, seeds: seed - first + 1, how: String(violation.split("\n")[0]) };
    return false;
  });
  remove();
  return found;
}

function formatResult({ name, seeds, how }: BugResult): string {
  return `${String(seeds ?? "-").padStart(6)}  ${name.padEnd(48)} ${how}`;
}
