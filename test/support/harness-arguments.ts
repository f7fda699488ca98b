import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { REPOSITORY_ROOT } from "./carillon-process.ts";

/** The words at the top of `test/<harness>/main.ts`: what can be asked of it. */
function usageOf(harness: string): string {
  const [, doc = ""] =
    /^\/\*\*\n(.*?)\n \*\/$/ms.exec(readFileSync(join(REPOSITORY_ROOT, "test", harness, "main.ts"), "utf8")) ?? [];
  return doc.replaceAll(/^ \* ?/gm, "");
}

/**
 * What a harness was asked for, as node's `parseArgs` has it. `--help` shows its words and ends with 0; what it does not
 * know ends with 2 and where to read more.
 */
export function readArguments<const Options extends NonNullable<ParseArgsConfig["options"]>>(
  harness: "bench" | "contract" | "faults" | "mutate" | "sim",
  options: Options,
) {
  try {
    if (process.argv.includes("--help")) {
      process.stdout.write(`${usageOf(harness)}\n`);
      process.exit(0);
    }
    return parseArgs({ options, allowPositionals: true });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\nSee: npm run ${harness} -- --help\n`);
    process.exit(2);
  }
}
