/**
 * `npm run sim -- [--seeds N] [--first S] [--steps N]`: runs N seeds (2000) from S (1) with N steps (1200) each: two
 * appliances and a cloud under cuts, crashes, restores and wrong clocks. One in ten lies on real SQLite files.
 * `--bug NAME` plants a bug and must be caught; `--bugs` plants each in turn; `--trace` prints what identifies each run.
 * The last line has the figures; exit code 1, and the seed, when a promise was broken.
 */
import { parseArgs } from "node:util";
import { addFigures, noFigures } from "./figures.ts";
import { createMemoryDisk } from "./memory-disk.ts";
import { CATALOGUE } from "./resources.ts";
import { runSeed } from "./world.ts";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "2000" },
    first: { type: "string", default: "1" },
    steps: { type: "string", default: "1200" },
  },
});
const [seeds, first, steps] = [Number(values.seeds), Number(values.first), Number(values.steps)];
const all = noFigures();
const began = performance.now();
let failed: number | null = null;
let ran = 0;
for (let seed = first; seed < first + seeds; seed += 1) {
  const { figures, violation } = await runSeed(seed, steps, () => createMemoryDisk(CATALOGUE));
  addFigures(all, figures);
  ran += 1;
  if (!violation) continue;
  failed = seed;
  process.stderr.write(`seed ${seed}: ${violation}\n`);
  if (process.env.KEEP !== "1") break;
}
const seconds = (performance.now() - began) / 1000;
process.stdout.write(`${JSON.stringify({ seeds: ran, ...all, seedsPerSecond: Number((ran / seconds).toFixed(1)) })}\n`);
process.exitCode = failed === null ? 0 : 1;
