import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { withLock } from "./lock.mjs";
import { runNpm } from "./npm.mjs";
import { withProgress } from "./progress.mjs";
import { root, say } from "./tree.mjs";

/**
 * True for a Node version that runs Carillon: what `engines` in package.json allows.
 * @param {string} version
 */
export function nodeFits(version) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major >= 24 || (major === 22 && minor >= 13);
}

/**
 * Makes sure that the calling program runs on a Node that runs Carillon. On a machine whose own Node is too old, installs
 * the one of .ci/node, runs the program there with the same arguments, and ends with its exit code: nothing after the
 * call happens here.
 */
export async function onFittingNode() {
  if (nodeFits(process.versions.node)) return;
  const node = withLock(join(root, ".setup/lock"), () => sideNode(root));
  if (!node) process.exit(2);
  const env = { ...process.env, PATH: [dirname(node), process.env.PATH].join(delimiter) };
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], { stdio: "inherit", env });
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"])) {
    // A terminal sends Ctrl-C to the child too; a second SIGINT would cut its clean-up short.
    process.on(signal, () => void (signal === "SIGINT" && process.stdin.isTTY ? null : child.kill(signal)));
  }
  await new Promise((resolve) => {
    child.on("error", (error) => {
      say(`set-up: ${node} can't be run: ${error.message}`);
      process.exit(2);
    });
    child.on("exit", (code, signal) => {
      if (signal) {
        process.removeAllListeners(signal);
        process.kill(process.pid, signal);
      } else process.exit(code ?? 1);
      // Until the signal arrives.
      setTimeout(resolve, 1_000);
    });
  });
  process.exit(1);
}

/**
 * Path of the Node in .ci/node, which is installed when it is not there yet; null when that failed.
 * @param {string} base
 */
export function sideNode(base) {
  const folder = join(base, ".ci/node");
  const lock = readFileSync(join(folder, "package-lock.json"), "utf8");
  const name = `node_modules/node-${process.platform}-${process.arch}`;
  const node = join(folder, name, "bin/node");
  const stampFile = join(folder, "node_modules/.carillon-lock");
  const stamp = `${createHash("sha256").update(lock).digest("hex")} ${process.platform}-${process.arch}\n`;
  if (readText(stampFile) === stamp) return node;
  const version = JSON.parse(lock).packages[name]?.version;
  const needed = `Carillon needs Node 22.13, 24 or newer; this is ${process.versions.node}.`;
  if (!version) {
    say(`${needed} There is no ready-made Node for ${process.platform}-${process.arch}: install Node 24.`);
    return null;
  }
  say(`set-up: ${needed} Installing Node ${version} for this folder alone (190 MB) …`);
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  const result = withProgress({ what: "installing Node" }, () =>
    // An omit=optional of the machine would leave the package out without an error.
    runNpm(["ci", "--include=optional", "--ignore-scripts"], folder),
  );
  if (result.status !== 0) {
    say(`set-up: npm could not install Node ${version}${result.error ? `: ${result.error.message}` : ""}`);
    return null;
  }
  const runs = spawnSync(node, ["--version"], { encoding: "utf8" });
  if (runs.stdout?.trim() !== `v${version}`) {
    say(`set-up: Node ${version} does not run on this machine: ${runs.error?.message ?? runs.stderr.trim()}`);
    say("  Install Node 24 yourself.");
    return null;
  }
  writeFileSync(stampFile, stamp);
  return node;
}

/** @param {string} path */
function readText(path) {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}
