import { existsSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import type { Clock } from "../lib/clock.ts";
import { ConflictError, invalidValue, UpstreamError } from "../lib/errors.ts";
import { isNewerVersion } from "../lib/version-order.ts";
import { pollUntil } from "../lib/waits.ts";
import type { DaemonState } from "../ops/diagnostics.ts";
import { unpackUpgrade } from "../ops/upgrade/upgrade-bundle.ts";
import {
  acknowledgeUpgradeRequest,
  completeUpgradeRequest,
  pendingUpgradeRequest,
  upgradeFilePath,
} from "../ops/upgrade/upgrade-request.ts";
import { packagedVersion, placePackagedVersion } from "./packaged-version.ts";
import {
  clearVersionSwitch,
  confirmedVersionSwitch,
  confirmVersionSwitch,
  type PendingVersionSwitch,
  pendingVersionSwitch,
  recordVersionSwitch,
} from "./version-switch.ts";

/** Control of the daemon's service during an upgrade. */
export interface ServiceControl {
  /** Throws UpstreamError if no service manager supervises the daemon. */
  requireSupervised(): Promise<void>;
  /** Requests a restart from the service manager; does not wait for it. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** Requests a start; does not wait for it. */
  start(): Promise<void>;
  /** State reported by the daemon; null if it does not respond. */
  state(): Promise<DaemonState | null>;
  /** Takes a backup through the running daemon; returns its path. */
  backup(): Promise<string>;
  /** True when only a newer version than `version` can use the data; the daemon must be stopped. */
  needsNewerVersion(version: string): Promise<boolean>;
  /** Restores a backup; the daemon must be stopped. */
  restore(file: string): Promise<void>;
}

export interface UpgradeOptions {
  file: string;
  /** Folder with `versions/<version>` and the link `current`, which the service runs from. */
  root: string;
  keys: readonly string[];
  service: ServiceControl;
  clock: Clock;
  /** Prints a line of progress. */
  say(progress: string): void;
}

export interface UpgradeResult {
  from: string;
  to: string;
  /** True if the new version was unhealthy and the old one runs again, on its old data. */
  rolledBack: boolean;
}

/** @source docs/decisions/0038-reliability.md */
const STARTUP_WAIT = { timeoutMs: 60_000, intervalMs: 500 };
/** A process that crashes right after its start has crashed twice within this time. */
const STABLE_FOR_MS = 10_000;

/**
 * Unpacks and verifies a bundle beside the running version, takes a backup, switches over, and waits until the new version is
 * healthy and stays so. Otherwise rolls back to the old version, on the data of the backup if the new version changed them. The
 * switch is one rename, so one complete version is current at any time. Throws CallerError for an invalid bundle, ConflictError
 * for one that is not newer, UpstreamError if the old version does not become healthy again.
 */
export async function installUpgrade(options: UpgradeOptions): Promise<UpgradeResult> {
  const { file, root, keys } = options;
  return switchVersion(options, async (check) => unpackUpgrade(file, join(root, "versions"), keys, check));
}

/**
 * Switches to the version that a package has installed in `folder`, as `installUpgrade` does; the package manager has
 * verified it. Nothing happens where that version is current, as when a package is installed again. Throws what
 * `installUpgrade` throws.
 */
export async function installPackagedVersion(
  folder: string,
  options: Omit<UpgradeOptions, "file">,
): Promise<UpgradeResult> {
  const [version, current] = [packagedVersion(folder), join(options.root, "current")];
  if (existsSync(current) && basename(readlinkSync(current)) === version)
    return { from: version, to: version, rolledBack: false };
  return switchVersion({ ...options, file: folder }, async (check) =>
    placePackagedVersion(folder, options.root, check),
  );
}

/**
 * Makes the version in `folder` current without looking at a daemon, which must not run: for the first installation, and
 * where an administrator has stopped the service. Returns the version.
 */
export function placeVersion(folder: string, root: string): string {
  const version = placePackagedVersion(folder, root, () => undefined);
  replaceSymlink(join(root, "current"), join("versions", version));
  clearVersionSwitch(root);
  return version;
}

/**
 * Undoes the last upgrade: the version before it runs again, on the data as they are now; a backup of them is taken first.
 * Throws ConflictError if there is no upgrade to undo, or if that version can't use the data: then nothing is changed.
 */
export async function undoUpgrade(options: Omit<UpgradeOptions, "file" | "keys">): Promise<UpgradeResult> {
  const { root, service, say } = options;
  const current = join(root, "current");
  const last = confirmedVersionSwitch(root);
  if (last === null || readlinkSync(current) !== join("versions", last.to) || !existsSync(join(root, last.old)))
    throw new ConflictError("There is no upgrade to undo: the version before the current one is not kept.");
  const before = await service.state();
  if (before) say(`backup of the present data written to ${await service.backup()}`);
  await service.stop();
  if (await service.needsNewerVersion(last.from)) {
    await service.start();
    throw new ConflictError(
      `${last.from} can't use the data that ${last.to} has migrated; nothing was changed. To lose what was entered since then, stop the service, let ${current} lead to ${last.old}, and restore ${last.backup} with that version.`,
    );
  }
  replaceSymlink(current, last.old);
  clearVersionSwitch(root);
  await service.start();
  if (await becomesHealthy(options, last.from, last.status)) return { from: last.to, to: last.from, rolledBack: false };
  throw rollbackFailedError(last.from, last.backup);
}

/** `place` puts the new version beside the running one, after `check` of its number, and returns the number. */
async function switchVersion(
  options: UpgradeOptions,
  place: (check: (version: string) => void) => Promise<string>,
): Promise<UpgradeResult> {
  const { file, root, service, say } = options;
  const current = join(root, "current");
  const before = await service.state();
  if (!before)
    throw notReadyError(
      "No daemon runs on these data; start it first. An upgrade checks whether it becomes healthy again.",
    );
  if (!existsSync(current)) throw notReadyError(`${current} is missing: ${LAYOUT_HELP}`);
  await service.requireSupervised();
  const old = readlinkSync(current);
  const to = await place((version) => {
    // The reported version must not allow a downgrade below the version that root has installed.
    if (isNewerVersion(version, before.version) && !isNewerVersion(basename(old), version)) return;
    throw new ConflictError(`${version} is not newer than the running version ${before.version}; nothing was changed.`);
  });
  say(`verified ${to} and unpacked it beside ${before.version}`);
  const backup = await service.backup();
  say(`backup written to ${backup}`);
  const pending = { file, from: before.version, to, old, backup, status: before.status };
  recordVersionSwitch(root, pending);
  replaceSymlink(current, join("versions", to));
  try {
    await service.restart();
  } catch (error) {
    replaceSymlink(current, old);
    clearVersionSwitch(root);
    throw new UpstreamError("starting", `${to} could not be started; ${before.version} keeps running.`, {}, error);
  }
  return verifyOrRollBack(options, pending);
}

/** Waits until the new version is healthy; rolls back otherwise. */
async function verifyOrRollBack(
  options: Omit<UpgradeOptions, "file">,
  pending: PendingVersionSwitch,
): Promise<UpgradeResult> {
  const { root, service, say } = options;
  const { from, to, old, backup, status } = pending;
  if (await becomesHealthy(options, to, status)) {
    removeOldVersions(join(root, "versions"), [to, basename(old)]);
    confirmVersionSwitch(root);
    return { from, to, rolledBack: false };
  }
  say(`${to} did not become healthy; rolling back to ${from}`);
  replaceSymlink(join(root, "current"), old);
  await rollBack(service, from, backup, say);
  const isBack = await becomesHealthy(options, from, status);
  clearVersionSwitch(root);
  if (isBack) return { from, to, rolledBack: true };
  throw rollbackFailedError(from, backup);
}

/**
 * Installs the upgrade that was requested from the daemon and reports the result to the version that runs afterwards. Null
 * if none is requested. An interrupted upgrade is resumed. Throws what `installUpgrade` throws, after reporting it.
 */
export async function installRequestedUpgrade(
  dataDir: string,
  options: Omit<UpgradeOptions, "file">,
): Promise<UpgradeResult | null> {
  const request = pendingUpgradeRequest(dataDir);
  if (!request) return null;
  const { id, from } = request;
  acknowledgeUpgradeRequest(dataDir, request);
  try {
    const result = await resumeOrInstall(upgradeFilePath(dataDir, request.sha256), from, options);
    completeUpgradeRequest(dataDir, { id, ...result, fault: null });
    return result;
  } catch (error) {
    completeUpgradeRequest(dataDir, { id, fault: error instanceof Error ? error.message : String(error) });
    throw error;
  }
}

/** An earlier run may have switched over and been interrupted before it reported the result, as by a power failure. */
async function resumeOrInstall(
  file: string | null,
  from: string,
  options: Omit<UpgradeOptions, "file">,
): Promise<UpgradeResult> {
  const running = await waitForState(options);
  const pending = file === null ? null : pendingVersionSwitch(options.root, file);
  const isUndone = readlinkSync(join(options.root, "current")) === pending?.old && running?.version === from;
  if (pending && !isUndone) return verifyOrRollBack(options, pending);
  if (running && isNewerVersion(running.version, from)) return { from, to: running.version, rolledBack: false };
  if (file === null) throw invalidValue("sha256", "Must be a SHA-256 hash in hex.");
  return installUpgrade({ ...options, file });
}

/** The daemon's state; null if none responds in time. */
async function waitForState({
  service,
  clock,
}: Pick<UpgradeOptions, "service" | "clock">): Promise<DaemonState | null> {
  return pollUntil(clock, () => service.state().catch(() => null), STARTUP_WAIT);
}

async function rollBack(
  service: ServiceControl,
  version: string,
  backup: string,
  say: UpgradeOptions["say"],
): Promise<void> {
  await service.stop();
  if (await service.needsNewerVersion(version)) {
    await service.restore(backup);
    say("restored the data of the backup");
  }
  await service.start();
}

/** Keeps the new version and the previous one. */
function removeOldVersions(versions: string, kept: readonly string[]): void {
  for (const name of readdirSync(versions))
    if (!kept.includes(name)) rmSync(join(versions, name), { recursive: true, force: true });
}

/** Replaces a symbolic link atomically, by renaming a new one over it. */
function replaceSymlink(link: string, target: string): void {
  rmSync(`${link}.new`, { force: true });
  symlinkSync(target, `${link}.new`);
  renameSync(`${link}.new`, link);
}

/** Status RED is no reason to roll back if the old version was RED already. */
async function becomesHealthy(
  { service, clock }: Pick<UpgradeOptions, "service" | "clock">,
  version: string,
  before: DaemonState["status"],
): Promise<boolean> {
  let healthySince: number | null = null;
  const poll = async (): Promise<true | null> => {
    const state = await service.state().catch(() => null);
    const now = clock.monotonicMs();
    // Without a URL it is still starting.
    const isHealthy = state?.version === version && state.url !== "" && (state.status !== "RED" || before === "RED");
    healthySince = isHealthy ? (healthySince ?? now) : null;
    return healthySince !== null && now - healthySince >= STABLE_FOR_MS ? true : null;
  };
  return (await pollUntil(clock, poll, STARTUP_WAIT)) !== null;
}

const LAYOUT_HELP =
  "it must be a link to the version that the service runs from, such as versions/0.1.0 beside it. --root names another folder.";

function notReadyError(message: string): UpstreamError {
  return new UpstreamError("starting", message);
}

function rollbackFailedError(version: string, backup: string): UpstreamError {
  return new UpstreamError(
    "starting",
    `${version} was started again but is unhealthy: see its log. The previous data are in ${backup}.`,
  );
}
