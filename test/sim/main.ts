/**
 * `npm run sim -- [--seeds N] [--first S] [--steps N]`: runs N seeds (2000) from S (1) with N steps (1200) each: two
 * appliances and a cloud under cuts, crashes, restores and wrong clocks. One in ten lies on real SQLite files.
 * `--catch-up` instead: an appliance on real files comes back after three days and 100,000 changes to 10,000 rows.
 * `--bug NAME` plants a bug, `--bug all` each in turn: the exit code is 0 when each was caught.
 * The last line has the figures; exit code 1, and the seed, when a promise was broken.
 */
import { parseArgs } from "node:util";
import { catchUp } from "./catch-up.ts";
import { addFigures, noFigures } from "./figures.ts";
import { PLANTED_BUGS } from "./planted-bugs.ts";
import { createSqliteDisks } from "./sqlite-disk.ts";
import { simulationWith } from "./with-bug.ts";
import { type Run, runOnMemory, runSeed } from "./world.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "2000" },
    first: { type: "string", default: "1" },
    steps: { type: "string", default: "1200" },
    bug: { type: "string" },
    "catch-up": { type: "boolean", default: false },
  },
});
const [seeds, first, steps] = [Number(values.seeds), Number(values.first), Number(values.steps)];
const bugs = PLANTED_BUGS.filter(({ name }) => values.bug === "all" || values.bug === name);
if (
  ![seeds, first, steps].every((number) => Number.isInteger(number) && number > 0) ||
  (values.bug && bugs.length === 0)
) {
  process.stderr.write("Usage: npm run sim -- [--seeds N] [--first S] [--steps N] [--bug NAME|all] | --catch-up\n");
  process.exit(2);
}
process.exitCode = (await (values["catch-up"] ? comeBack() : values.bug ? huntBugs() : runSeeds())) ? 0 : 1;

async function comeBack(): Promise<boolean> {
  const disks = createSqliteDisks();
  const absence = { rows: 10_000, changes: 100_000, awayMs: 3 * 24 * 3600_000 };
  const found = await catchUp(absence, disks.make, () => performance.now());
  disks.remove();
  process.stdout.write(`${JSON.stringify({ ...absence, ...found })}\n`);
  const isOnce = found.sent === absence.rows && found.sentAgain === 0;
  return found.isEqual && isOnce && found.stale === "expired" && found.staleSounded === 0 && !found.violation;
}

async function runSeeds(): Promise<boolean> {
  const all = noFigures();
  const began = performance.now();
  let ran = 0;
  let isKept = true;
  for (let seed = first; seed < first + seeds && isKept; seed += 1) {
    const { figures, violation } = await run(seed);
    addFigures(all, figures);
    ran += 1;
    isKept = violation === null;
    if (violation) process.stderr.write(`seed ${seed}: ${violation}\n`);
  }
  const seedsPerSecond = Number(((1000 * ran) / (performance.now() - began)).toFixed(1));
  process.stdout.write(`${JSON.stringify({ seeds: ran, ...all, seedsPerSecond })}\n`);
  return isKept;
}

async function run(seed: number): Promise<Run> {
  if (seed % 10 !== 0) return runOnMemory(seed, steps);
  const disks = createSqliteDisks();
  const done = await runSeed(seed, steps, disks.make);
  disks.remove();
  done.figures.onDisk = 1;
  return done;
}

async function huntBugs(): Promise<boolean> {
  const missed: string[] = [];
  for (const bug of bugs) {
    const runPlanted = await simulationWith(bug, process.cwd());
    let caught: string | null = null;
    for (let seed = first; seed < first + seeds && !caught; seed += 1) {
      const { violation } = await runPlanted(seed, steps);
      if (violation) caught = `seed ${seed}: ${violation.split("\n")[0]}`;
    }
    process.stderr.write(`${bug.name}: ${caught ?? "not caught"}\n`);
    if (!caught) missed.push(bug.name);
  }
  process.stdout.write(`${JSON.stringify({ bugs: bugs.length, caught: bugs.length - missed.length, missed })}\n`);
  return missed.length === 0;
}
