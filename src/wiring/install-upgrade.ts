import { existsSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { type Clock, sleep } from "../lib/clock.ts";
import { ConflictError, invalidValue, UpstreamError } from "../lib/errors.ts";
import { isNewerVersion } from "../lib/version-order.ts";
import type { DaemonState } from "../ops/diagnostics.ts";
import { unpackUpgrade } from "../ops/upgrade/upgrade-bundle.ts";
import {
  acknowledgeUpgradeRequest,
  completeUpgradeRequest,
  pendingUpgradeRequest,
  upgradeFilePath,
} from "../ops/upgrade/upgrade-request.ts";
import {
  clearVersionSwitch,
  type PendingVersionSwitch,
  pendingVersionSwitch,
  recordVersionSwitch,
} from "./version-switch.ts";

/** The service as an upgrade handles it. */
export interface ServiceControl {
  /** Throws UpstreamError where nothing watches over the daemon that could start another version. */
  requireSupervised(): Promise<void>;
  /** Orders it to be stopped and started again by whoever watches over it; nobody waits for the start. */
  restart(): Promise<void>;
  stop(): Promise<void>;
  /** Orders the start and does not wait for it. */
  start(): Promise<void>;
  /** What the daemon says of itself; null while none answers. */
  state(): Promise<DaemonState | null>;
  /** Takes a backup by the running daemon and answers its path. */
  backup(): Promise<string>;
  /** True when the data can only be used by a later version than the one before; the daemon is stopped. */
  needsNewerVersion(): Promise<boolean>;
  /** Puts a backup back; the daemon is stopped. */
  restore(file: string): Promise<void>;
}

/** What is upgraded. */
export interface UpgradeOptions {
  file: string;
  /** Folder with `versions/<version>` and the link `current`, which the service runs from. */
  root: string;
  keys: readonly string[];
  service: ServiceControl;
  clock: Clock;
  say(progress: string): void;
}

/** What became of it. */
export interface UpgradeResult {
  from: string;
  to: string;
  /** True when the new version was not well and the old one runs again, on the data as they were. */
  rolledBack: boolean;
}

/** @source reliability.md 3, T19 */
const STARTUP_TIMEOUT_MS = 60_000;
/** own choice: what dies right after its start has done so twice by then */
const STABLE_FOR_MS = 10_000;
const POLL_INTERVAL_MS = 500;

/**
 * Unpacks and checks a bundle beside the running version, takes a backup, switches over and looks whether the new version
 * gets well and stays so; if not, the old version runs again, on the data of the backup where the new one has changed
 * them. The switch is one rename: whatever ends this command, one whole version is current. Throws CallerError for a bundle
 * that is refused, ConflictError for one that is not newer, UpstreamError when the old version does not get well again.
 */
export async function installUpgrade(options: UpgradeOptions): Promise<UpgradeResult> {
  const { file, root, keys, service, say } = options;
  const current = join(root, "current");
  const before = await service.state();
  if (!before)
    throw notReadyError("No daemon runs on these data: start it first. An upgrade looks whether it gets well again.");
  if (!existsSync(current)) throw notReadyError(`${current} is missing: ${LAYOUT_HELP}`);
  await service.requireSupervised();
  const old = readlinkSync(current);
  const to = await unpackUpgrade(file, join(root, "versions"), keys, (version) => {
    // What the daemon says of itself does not lead back behind what root has installed.
    if (isNewerVersion(version, before.version) && !isNewerVersion(basename(old), version)) return;
    throw new ConflictError(`${version} is not newer than ${before.version}, which runs: nothing was changed.`);
  });
  say(`${to} is checked and lies beside ${before.version}`);
  const backup = await service.backup();
  say(`the data are in ${backup}`);
  const made = { file, from: before.version, to, old, backup, status: before.status };
  recordVersionSwitch(root, made);
  replaceSymlink(current, join("versions", to));
  try {
    await service.restart();
  } catch (error) {
    replaceSymlink(current, old);
    clearVersionSwitch(root);
    throw new UpstreamError("starting", `${to} could not be started, so ${before.version} runs on.`, {}, error);
  }
  return verifyOrRollBack(options, made);
}

/** Goes back from a version that does not get well. */
async function verifyOrRollBack(
  options: Omit<UpgradeOptions, "file">,
  made: PendingVersionSwitch,
): Promise<UpgradeResult> {
  const { root, service, say } = options;
  const { from, to, old, backup, status } = made;
  if (await becomesHealthy(options, to, status)) {
    removeOldVersions(join(root, "versions"), [to, basename(old)]);
    clearVersionSwitch(root);
    return { from, to, rolledBack: false };
  }
  say(`${to} did not get well: going back to ${from}`);
  replaceSymlink(join(root, "current"), old);
  await rollBack(service, backup, say);
  const isBack = await becomesHealthy(options, from, status);
  clearVersionSwitch(root);
  if (isBack) return { from, to, rolledBack: true };
  throw rollbackFailedError(from, backup);
}

/**
 * Carries out the upgrade that the daemon left an order for, and says what became of it to whichever version runs then.
 * Null when there is none. One that was cut off is taken up again. Throws what `upgrade` throws, once that is told.
 */
export async function installRequestedUpgrade(
  dataDir: string,
  options: Omit<UpgradeOptions, "file">,
): Promise<UpgradeResult | null> {
  const order = pendingUpgradeRequest(dataDir);
  if (!order) return null;
  const { id, from } = order;
  acknowledgeUpgradeRequest(dataDir, order);
  try {
    const done = await resumeOrInstall(upgradeFilePath(dataDir, order.sha256), from, options);
    completeUpgradeRequest(dataDir, { id, ...done, fault: null });
    return done;
  } catch (error) {
    completeUpgradeRequest(dataDir, { id, fault: error instanceof Error ? error.message : String(error) });
    throw error;
  }
}

/** A run before this one may have switched over, and have been cut off before it said so, with the whole machine. */
async function resumeOrInstall(
  file: string | null,
  from: string,
  options: Omit<UpgradeOptions, "file">,
): Promise<UpgradeResult> {
  const running = await waitForState(options);
  const made = file === null ? null : pendingVersionSwitch(options.root, file);
  const isUndone = readlinkSync(join(options.root, "current")) === made?.old && running?.version === from;
  if (made && !isUndone) return verifyOrRollBack(options, made);
  if (running && isNewerVersion(running.version, from)) return { from, to: running.version, rolledBack: false };
  if (file === null) throw invalidValue("sha256", "It is no SHA-256 in hex.");
  return installUpgrade({ ...options, file });
}

/** Null when nothing has come up in time. */
async function waitForState({
  service,
  clock,
}: Pick<UpgradeOptions, "service" | "clock">): Promise<DaemonState | null> {
  const until = clock.monotonicMs() + STARTUP_TIMEOUT_MS;
  for (;;) {
    const state = await service.state().catch(() => null);
    if (state || clock.monotonicMs() >= until) return state;
    await sleep(clock, POLL_INTERVAL_MS);
  }
}

async function rollBack(service: ServiceControl, backup: string, say: UpgradeOptions["say"]): Promise<void> {
  await service.stop();
  if (await service.needsNewerVersion()) {
    await service.restore(backup);
    say("the data are those of the backup again");
  }
  await service.start();
}

/** Of earlier versions only the one before is kept. */
function removeOldVersions(versions: string, kept: readonly string[]): void {
  for (const name of readdirSync(versions))
    if (!kept.includes(name)) rmSync(join(versions, name), { recursive: true, force: true });
}

/** A link is replaced by renaming another one over it, which happens whole or not at all. */
function replaceSymlink(link: string, target: string): void {
  rmSync(`${link}.new`, { force: true });
  symlinkSync(target, `${link}.new`);
  renameSync(`${link}.new`, link);
}

/** Red is no reason to go back where the old version was red already. */
async function becomesHealthy(
  { service, clock }: Pick<UpgradeOptions, "service" | "clock">,
  version: string,
  before: DaemonState["status"],
): Promise<boolean> {
  const until = clock.monotonicMs() + STARTUP_TIMEOUT_MS;
  let wellSince: number | null = null;
  while (clock.monotonicMs() < until) {
    const state = await service.state().catch(() => null);
    const now = clock.monotonicMs();
    // Without an address it still starts.
    const isNow = state?.version === version && state.url !== "" && (state.status !== "RED" || before === "RED");
    wellSince = isNow ? (wellSince ?? now) : null;
    if (wellSince !== null && now - wellSince >= STABLE_FOR_MS) return true;
    await sleep(clock, POLL_INTERVAL_MS);
  }
  return false;
}

const LAYOUT_HELP =
  "a link to the version that the service runs from, such as versions/0.1.0 beside it. --root names another folder.";

function notReadyError(words: string): UpstreamError {
  return new UpstreamError("starting", words);
}

function rollbackFailedError(version: string, backup: string): UpstreamError {
  return new UpstreamError(
    "starting",
    `${version} was started again and is not well: see its log. The data of before are in ${backup}.`,
  );
}
