/**
 * `npm run faults -- kills [NUMBER] [--seed S]`: kills the daemon NUMBER times (100) under load and looks for answered
 * creates that were lost. The last line has the counts; exit code 1 when anything was lost.
 */
import { parseArgs } from "node:util";
import { killUnderLoad } from "./kills.ts";

const { values, positionals } = parseArgs({
  options: { seed: { type: "string", default: "1" } },
  allowPositionals: true,
});
const [what, number = "100"] = positionals;
if (what !== "kills" || !/^\d{1,5}$/.test(number) || !/^\d{1,9}$/.test(values.seed)) {
  process.stderr.write("Usage: npm run faults -- kills [NUMBER] [--seed S]\n");
  process.exit(2);
}
const say = (progress: string): void => void process.stderr.write(`${progress}\n`);
const { kills, answered, lost } = await killUnderLoad(Number(number), Number(values.seed), say);
process.stdout.write(`${JSON.stringify({ kills, answered, lost: lost.length })}\n`);
for (const id of lost) say(`lost: ${id}`);
process.exitCode = lost.length === 0 && answered > 0 ? 0 : 1;
