/**
 * `npm run mutate [-- MODULE ...] [--sample N] [--write]`: changes one place of the sources after the other and runs the
 * tests that should notice. Prints the score of each module and the mutants that survived. `--sample` bounds the mutants
 * per module (40; 0 takes all), `--write` writes the table into docs/benchmarks.md. Exit code 1 when a score is below 90 %.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { writeBenchmarkTable } from "../support/benchmark-tables.ts";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { readArguments } from "../support/harness-arguments.ts";
import { MUTATED_MODULES, type MutatedModule } from "./modules.ts";
import { type Mutant, mutantsOf, sampled } from "./mutants.ts";

/** A mutant that loops for ever is noticed, too. */
const TIMEOUT_MS = 120_000;
const MIN_SCORE = 0.9;

interface Score {
  name: string;
  killed: number;
  survivors: Mutant[];
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const { values, positionals } = readArguments("mutate", {
  sample: { type: "string", default: "40" },
  write: { type: "boolean", default: false },
});
const names = positionals.length > 0 ? positionals : Object.keys(MUTATED_MODULES);
const scores: Score[] = [];
for (const name of names) {
  const module = MUTATED_MODULES[name];
  if (!module) throw new RangeError(`no module ${name}; there are ${Object.keys(MUTATED_MODULES).join(", ")}`);
  scores.push(await scoreOf(name, module));
}
if (values.write) writeTable();
for (const { name, killed, survivors } of scores) {
  for (const { file, line, change } of survivors) process.stdout.write(`survived  ${file}:${line}  ${change}\n`);
  process.stdout.write(`${name}: ${killed} of ${killed + survivors.length} mutants noticed\n`);
}
process.exit(scores.every((score) => shareOf(score) >= MIN_SCORE) ? 0 : 1);

async function scoreOf(name: string, { files, tests }: MutatedModule): Promise<Score> {
  if (!(await passes(null, tests))) throw new Error(`the tests of ${name} fail without a mutant`);
  const all = files.flatMap((file) => mutantsOf(file, readFileSync(resolve(REPOSITORY_ROOT, file), "utf8")));
  const size = Number(values.sample);
  const mutants = size === 0 ? all : sampled(all, size);
  const survivors: Mutant[] = [];
  for (const [at, mutant] of mutants.entries()) {
    if (await passes(mutant, tests)) survivors.push(mutant);
    say(`${name}: ${at + 1} of ${mutants.length} (${all.length} in all), ${survivors.length} survived`);
  }
  return { name, killed: mutants.length - survivors.length, survivors };
}

function passes(mutant: Mutant | null, tests: readonly string[]): Promise<boolean> {
  const vitest = resolve(REPOSITORY_ROOT, "node_modules/vitest/vitest.mjs");
  const config = relative(process.cwd(), resolve(REPOSITORY_ROOT, ".ci/mutation.config.ts"));
  const child = spawn(process.execPath, [vitest, "run", "--config", config, ...tests], {
    env: { ...process.env, CARILLON_MUTANT: JSON.stringify(mutant) },
    stdio: "ignore",
    detached: true,
  });
  return new Promise((done) => {
    const timer = setTimeout(() => process.kill(-(child.pid as number), "SIGKILL"), TIMEOUT_MS);
    child.on("exit", (code) => {
      clearTimeout(timer);
      done(code === 0);
    });
  });
}

function shareOf({ killed, survivors }: Score): number {
  return killed / Math.max(1, killed + survivors.length);
}

function writeTable(): void {
  const rows = scores.map(
    ({ name, killed, survivors }) => `| ${name} | ${killed} of ${killed + survivors.length} | ${survivors.length} |`,
  );
  const left = scores.flatMap(({ survivors }) =>
    survivors.map(({ file, line, change }) => `- \`${file}:${line}\`: \`${change.replaceAll("`", "'")}\``),
  );
  writeBenchmarkTable(
    "mutation",
    ["| Module | Noticed | Survived |", "|---|---|---|", ...rows, "", ...left].join("\n"),
  );
}
