import { spawnSync } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { root, say } from "./tree.mjs";

/**
 * A program from outside that tests talk to; `package` may be several, joined by `+`.
 * @typedef {{package: string, command: string}} Peer
 */

/**
 * The peers listed in .ci/debian-packages.txt.
 * @returns {Peer[]}
 */
export function peers() {
  const lines = readFileSync(join(root, ".ci/debian-packages.txt"), "utf8").split("\n");
  return lines
    .filter((line) => /^[a-z0-9]/.test(line))
    .map((line) => line.trim().split(/\s+/))
    .map(([name = "", command = name]) => ({ package: name, command }));
}

/**
 * True when `command` can be run from here.
 * @param {string} command
 */
export function present(command) {
  return (process.env.PATH ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, command), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** True where a missing peer is a failure, never a reason to leave tests out. */
export function strict() {
  return !["", "0", "false"].includes(process.env.CI ?? "");
}

/**
 * What a person must run to get `missing`.
 * @param {Peer[]} missing
 */
export function remedy(missing) {
  return `apt-get install -y --no-install-recommends ${packagesOf(missing).join(" ")}`;
}

/** @param {Peer[]} missing */
function packagesOf(missing) {
  return missing.flatMap((peer) => peer.package.split("+"));
}

/** Installs what is missing when it may (root on a Debian system); returns what is missing still. */
export function installPeers() {
  const missing = peers().filter((peer) => !present(peer.command));
  if (missing.length === 0) return [];
  if (process.getuid?.() !== 0 || !present("apt-get")) {
    say(`Some tests need programs that are not here. As root: ${remedy(missing)}`);
    return missing;
  }
  say(`set-up: installing for the tests: ${packagesOf(missing).join(" ")} …`);
  const wait = "-oDPkg::Lock::Timeout=400";
  aptGet(["update", wait]);
  // Without its answer glewlwyd sets up a database at installation, and fails.
  spawnSync("debconf-set-selections", { input: "glewlwyd glewlwyd/config_type select No configuration\n" });
  aptGet(["install", "-y", "--no-install-recommends", wait, ...packagesOf(missing)]);
  return missing.filter((peer) => !present(peer.command));
}

/** @param {string[]} args */
function aptGet(args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const result = spawnSync("apt-get", args, { env, stdio: ["ignore", 2, 2] });
  if (result.status !== 0) say(`set-up: apt-get ${args[0]} failed`);
}
