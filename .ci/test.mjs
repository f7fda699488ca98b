/**
 * `npm test [-- vitest arguments]`: set-up, the programs that tests need, the tests.
 * The last line on stdout is `N passed, N failed`, with `, N skipped` behind it when tests were left out.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { argv, execPath, exit } from "node:process";
import { installPeers, remedy, strict } from "./setup/debian.mjs";
import { onFittingNode } from "./setup/runtime.mjs";
import { root, say } from "./setup/tree.mjs";
import { setUp } from "./setup.mjs";

/** @typedef {{passed: number, failed: number, skipped: number, notes: string[]}} Tally */

/**
 * Runs vitest and reads its tally; a run that leaves none has failed.
 * @param {string[]} args
 * @returns {Tally}
 */
function runVitest(args) {
  const folder = mkdtempSync(join(tmpdir(), "carillon-tally-"));
  const file = join(folder, "tally.json");
  const vitest = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--config", join(root, ".ci/vitest.config.ts")];
  const env = { ...process.env, CARILLON_TALLY: file };
  const { status } = spawnSync(execPath, [...vitest, ...args], {
    cwd: root,
    env,
    stdio: ["ignore", "inherit", "inherit"],
  });
  try {
    const tally = JSON.parse(readFileSync(file, "utf8"));
    return status !== 0 && tally.failed === 0 ? { ...tally, failed: 1 } : tally;
  } catch {
    return { passed: 0, failed: 1, skipped: 0, notes: [] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Prints what was left out and the closing line, and ends the process.
 * @param {Tally} tally
 */
function close(tally) {
  const { passed, failed, skipped, notes } = tally;
  if (notes.length > 0) process.stdout.write(`\nLeft out:\n${notes.map((note) => `  ${note}\n`).join("")}\n`);
  process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`);
  exit(failed > 0 ? 1 : 0);
}

await onFittingNode();
const fault = setUp();
if (fault === "install") close({ passed: 0, failed: 1, skipped: 0, notes: [] });
const missing = installPeers();
const tally = runVitest(argv.slice(2));
// The compiler writes its output in spite of faults, so the tests run; but such a tree is not green.
if (fault === "build") tally.failed += 1;
if (missing.length > 0 && strict()) {
  say(`Missing: ${remedy(missing)}`);
  tally.failed += 1;
}
close(tally);
