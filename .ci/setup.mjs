/**
 * Makes a clone ready to run: installs from the lock and builds, each only when stale. On a machine whose Node is too old,
 * installs the Node of .ci/node first and goes on there.
 * `node .ci/setup.mjs [--node-only | --install-only | --harness] [--print-node]`; --harness also builds the benchmarks and
 * fault runs. Writes to stderr; --print-node writes the path of the Node that runs Carillon to stdout.
 * Exit codes: 0 ready, 1 something failed, 2 no Node that runs Carillon.
 */
import { join } from "node:path";
import { argv, execPath, exit, stdout } from "node:process";
import { pathToFileURL } from "node:url";
import { build, built } from "./setup/build.mjs";
import { install, installed } from "./setup/install.mjs";
import { withLock } from "./setup/lock.mjs";
import { onFittingNode } from "./setup/runtime.mjs";
import { root } from "./setup/tree.mjs";

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

if (argv[1] && import.meta.url === pathToFileURL(argv[1]).href) {
  await onFittingNode();
  const options = { harness: argv.includes("--harness"), installOnly: argv.includes("--install-only") };
  if (!argv.includes("--node-only") && setUp(options)) exit(1);
  if (argv.includes("--print-node")) stdout.write(`${execPath}\n`);
}
