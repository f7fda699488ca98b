import { existsSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { type Clock, sleep } from "../base/clock.ts";
import { ConflictError, UpstreamError } from "../base/errors.ts";
import { isNewer } from "../base/versions.ts";
import type { DaemonState } from "../operations/doctor.ts";
import { unpackUpgrade } from "../operations/upgrade-bundle.ts";

/** The service as an upgrade handles it. */
export interface Service {
  stop(): Promise<void>;
  start(): Promise<void>;
  /** What the daemon says of itself; null while none answers. */
  state(): Promise<DaemonState | null>;
  /** Takes a backup by the running daemon and answers its path. */
  backup(): Promise<string>;
  /** Puts a backup back; the daemon is stopped. */
  restore(file: string): Promise<void>;
}

/** What is upgraded. */
export interface UpgradeOptions {
  file: string;
  /** Folder with `versions/<version>` and the link `current`, which the service runs from. */
  root: string;
  keys: readonly string[];
  service: Service;
  clock: Clock;
  say(progress: string): void;
  /** How long the new version may take to be well, ms. */
  patienceMs?: number;
}

/** What became of it. */
export interface Upgraded {
  from: string;
  to: string;
  /** True when the new version was not well and the old one runs again, on the data as they were. */
  rolledBack: boolean;
}

/** @source reliability.md 3, T19 */
const PATIENCE_MS = 60_000;
const LOOK_EVERY_MS = 500;

/**
 * Unpacks and checks a bundle beside the running version, takes a backup, switches over and looks whether the new version
 * gets well; if not, the old version runs again on its own data. The switch is one rename: whatever ends this command, one
 * whole version is current. Throws CallerError for a bundle that is refused, ConflictError for one that is not newer.
 */
export async function upgrade(options: UpgradeOptions): Promise<Upgraded> {
  const { file, root, keys, service, clock, say } = options;
  const current = join(root, "current");
  const before = await service.state();
  if (!before || !existsSync(current)) throw notReady(root);
  const to = await unpackUpgrade(file, join(root, "versions"), keys, (version) => {
    if (isNewer(version, before.version)) return;
    throw new ConflictError(`${version} is not newer than ${before.version}, which runs: nothing was changed.`);
  });
  say(`${to} is checked and lies beside ${before.version}`);
  const backup = await service.backup();
  say(`the data are in ${backup}`);
  const old = readlinkSync(current);
  await service.stop();
  point(current, join("versions", to));
  await service.start();
  if (await isWell(service, to, before.status, clock, options.patienceMs ?? PATIENCE_MS)) {
    return { from: before.version, to, rolledBack: false };
  }
  say(`${to} did not get well: going back to ${before.version}`);
  await service.stop();
  point(current, old);
  await service.restore(backup);
  await service.start();
  return { from: before.version, to, rolledBack: true };
}

/** A link is replaced by renaming another one over it, which happens whole or not at all. */
function point(link: string, target: string): void {
  rmSync(`${link}.new`, { force: true });
  symlinkSync(target, `${link}.new`);
  renameSync(`${link}.new`, link);
}

/** Red is no reason to go back where the old version was red already. */
async function isWell(
  service: Service,
  version: string,
  before: DaemonState["status"],
  clock: Clock,
  patienceMs: number,
): Promise<boolean> {
  for (const until = clock.monotonicMs() + patienceMs; clock.monotonicMs() < until; ) {
    const state = await service.state().catch(() => null);
    if (state?.version === version && (state.status !== "RED" || before === "RED")) return true;
    await sleep(clock, LOOK_EVERY_MS);
  }
  return false;
}

function notReady(root: string): UpstreamError {
  return new UpstreamError(
    "starting",
    `An upgrade needs the running daemon, and ${root}/current, a link to the version that it runs from.`,
  );
}
