/**
 * `npm run mutate [-- MODULE ...] [--sample N] [--write]`: changes one place of the source at a time and runs the tests
 * that must notice the change. Prints the score of each module and the mutants that survived. `--sample` limits the
 * mutants per module (40; 0 runs all of them), `--write` stores the scores of these modules and writes the table of all
 * modules into docs/benchmarks.md. Exit code 1 if a score is below 90 %.
 */
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { relative, resolve } from "node:path";
import { REPOSITORY_ROOT } from "../support/carillon-process.ts";
import { readArguments } from "../support/harness-arguments.ts";
import { MUTATED_MODULES, type MutatedModule } from "./modules.ts";
import { type Mutant, mutantsOf, sampled } from "./mutants.ts";
import { type MutationScore, shareOf, writeScores } from "./score-table.ts";

/** A mutant that loops for ever counts as noticed. */
const TIMEOUT_MS = 120_000;
const MIN_SCORE = 0.9;

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const { values, positionals } = readArguments("mutate", {
  sample: { type: "string", default: "40" },
  write: { type: "boolean", default: false },
});
const names = positionals.length > 0 ? positionals : Object.keys(MUTATED_MODULES);
const scores: MutationScore[] = [];
for (const name of names) {
  const module = MUTATED_MODULES[name];
  if (!module) throw new RangeError(`no module ${name}; there are ${Object.keys(MUTATED_MODULES).join(", ")}`);
  scores.push(await scoreOf(name, module));
}
if (values.write) writeScores(scores);
for (const { name, killed, survivors } of scores) {
  for (const { file, line, change } of survivors) process.stdout.write(`survived  ${file}:${line}  ${change}\n`);
  process.stdout.write(`${name}: ${killed} of ${killed + survivors.length} mutants noticed\n`);
}
process.exit(scores.every((score) => shareOf(score) >= MIN_SCORE) ? 0 : 1);

async function scoreOf(name: string, { files, tests }: MutatedModule): Promise<MutationScore> {
  if (!(await passes(null, tests))) throw new Error(`the tests of ${name} fail without a mutant`);
  const all = files.flatMap((file) => mutantsOf(file, readFileSync(resolve(REPOSITORY_ROOT, file), "utf8")));
  const size = Number(values.sample);
  const mutants = size === 0 ? all : sampled(all, size);
  const survivors: Mutant[] = [];
  for (const [at, mutant] of mutants.entries()) {
    if (await passes(mutant, tests)) survivors.push(mutant);
    say(`${name}: ${at + 1} of ${mutants.length} (${all.length} in total), ${survivors.length} survived`);
  }
  return { name, total: all.length, killed: mutants.length - survivors.length, survivors };
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
