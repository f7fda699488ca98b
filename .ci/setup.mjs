/**
 * Makes a clone ready to run: installs from the lock and builds, each only when stale.
 * `node .ci/setup.mjs [--install-only | --harness]`; --harness also builds the benchmarks and fault runs.
 * Writes to stderr only. Exit codes: 0 ready, 1 something failed, 2 wrong Node.
 */
import { join } from "node:path";
import { argv, exit, versions } from "node:process";
import { pathToFileURL } from "node:url";
import { build, built } from "./setup/build.mjs";
import { install, installed } from "./setup/install.mjs";
import { withLock } from "./setup/lock.mjs";
import { root, say } from "./setup/tree.mjs";

/**
 * What went wrong, null when the clone is ready. `install` means that nothing can be run at all.
 * @param {{harness?: boolean, installOnly?: boolean}} [options]
 * @returns {"install" | "build" | null}
 */
export function setUp({ harness = false, installOnly = false } = {}) {
  const part = harness ? "harness" : "main";
  const upToDate = () => installed(root) && (installOnly || built(root, part));
  if (upToDate()) return null;
  return withLock(join(root, ".setup/lock"), () => {
    if (!installed(root) && !install(root)) return "install";
    if (!upToDate() && !build(root, part)) return "build";
    return null;
  });
}

/** True when this Node can run Carillon; else says which one can. */
export function nodeFits() {
  const [major = 0, minor = 0] = versions.node.split(".").map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return true;
  say(`Carillon needs Node 20.19 or newer; this is ${versions.node}.`);
  return false;
}

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  if (!nodeFits()) exit(2);
  if (setUp({ harness: argv.includes("--harness"), installOnly: argv.includes("--install-only") })) exit(1);
}
