/**
 * `npm run check`: what can be said of the tree without running it. Types, formatting and lint, dead code, house rules.
 * Exit code 1 when any of them fails; all of them run. `--no-rules` leaves out the house rules, which are part of the
 * tests too. The last line on stdout is `checks: N passed, N failed`.
 */
import { spawnSync } from "node:child_process";
import { argv, execPath, exit, stdout } from "node:process";
import { onFittingNode } from "./setup/runtime.mjs";
import { root } from "./setup/tree.mjs";
import { setUp } from "./setup.mjs";

/**
 * TypeScript 6, although 7 checks in half the time: openapi-typescript and the house rules need the JavaScript API, which 7
 * does not have, and two compilers would disagree.
 * @type {Record<string, string[]>}
 */
const CHECKS = {
  types: ["node_modules/typescript/bin/tsc", "-p", ".ci/tsconfig.test.json"],
  "console types": ["node_modules/typescript/bin/tsc", "-p", "src/console/web/tsconfig.json"],
  "formatting and lint": ["node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", "."],
  "dead code": ["node_modules/knip/bin/knip.js", "--config", ".ci/knip.json", "--tsConfig", ".ci/tsconfig.test.json"],
};
if (!argv.includes("--no-rules")) {
  CHECKS["house rules"] = ["node_modules/vitest/vitest.mjs", "run", "-c", ".ci/vitest.config.ts", "test/rules"];
}

// The console is typed by the client, which is built; what the compiler finds is told by the first check.
await onFittingNode();
if (setUp() === "install") exit(1);
const failed = Object.entries(CHECKS).filter(([name, args]) => {
  stdout.write(`\n== ${name}\n`);
  return spawnSync(execPath, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] }).status !== 0;
});
for (const [name] of failed) stdout.write(`FAILED: ${name}\n`);
stdout.write(`checks: ${Object.keys(CHECKS).length - failed.length} passed, ${failed.length} failed\n`);
exit(failed.length > 0 ? 1 : 0);
