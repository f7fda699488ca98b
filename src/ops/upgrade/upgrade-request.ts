import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { runAsOwner } from "../../lib/file-ownership.ts";

/**
 * Request that the daemon, which can change neither its program nor its service, leaves in `<data>/upgrade` for
 * `carillon upgrade --ordered`, which runs as root; the result comes back in the same folder.
 */
export interface UpgradeRequest {
  /** Id of the command's activity. */
  id: string;
  /** The bundle in `<data>/files`; SHA-256, hex. */
  sha256: string;
  /** The version that ran when the upgrade was requested. */
  from: string;
}

/** Result of a request. */
export type UpgradeRequestResult = { id: string } & (
  | { from: string; to: string; rolledBack: boolean; fault: null }
  /** Nothing was changed, or an administrator must act; as text. */
  | { fault: string }
);

const requestFolder = (dataDir: string): string => join(dataDir, "upgrade");
/** systemd watches the first name. */
const FILE_NAMES = { order: "order.json", taken: "taken.json", end: "end.json" } as const;

/** Writes a request; replaces a previous one. */
export function writeUpgradeRequest(dataDir: string, request: UpgradeRequest): void {
  for (const name of [FILE_NAMES.taken, FILE_NAMES.end]) remove(dataDir, name);
  write(dataDir, FILE_NAMES.order, request);
}

/** The open request; null if there is none. */
export function pendingUpgradeRequest(dataDir: string): UpgradeRequest | null {
  return read<UpgradeRequest>(dataDir, FILE_NAMES.order);
}

/** Withdraws a request that was not acknowledged. */
export function withdrawUpgradeRequest(dataDir: string): void {
  remove(dataDir, FILE_NAMES.order);
}

/** Records that the installer has started. */
export function acknowledgeUpgradeRequest(dataDir: string, { id }: UpgradeRequest): void {
  write(dataDir, FILE_NAMES.taken, { id });
}

/** True once the installer has started. */
export function isUpgradeRequestAcknowledged(dataDir: string, id: string): boolean {
  return read<{ id: string }>(dataDir, FILE_NAMES.taken)?.id === id;
}

/** Records the result and closes the request. */
export function completeUpgradeRequest(dataDir: string, result: UpgradeRequestResult): void {
  write(dataDir, FILE_NAMES.end, result);
  withdrawUpgradeRequest(dataDir);
}

/** Result of a request; null while it is open. */
export function upgradeRequestResult(dataDir: string, id: string): UpgradeRequestResult | null {
  const result = read<UpgradeRequestResult>(dataDir, FILE_NAMES.end);
  return result?.id === id ? result : null;
}

/** Path of the bundle; null for an invalid hash. */
export function upgradeFilePath(dataDir: string, sha256: string): string | null {
  return /^[0-9a-f]{64}$/.test(sha256) ? join(dataDir, "files", sha256.slice(0, 2), sha256) : null;
}

/** The folder with `versions` and the link `current` that contains `program`, the running file; null for another layout. */
export function findVersionsRoot(program: string): string | null {
  if (!existsSync(program)) return null;
  for (let folder = dirname(realpathSync(program)); folder !== dirname(folder); folder = dirname(folder)) {
    if (basename(dirname(folder)) !== "versions") continue;
    const root = dirname(dirname(folder));
    return currentVersionOf(root) === basename(folder) ? root : null;
  }
  return null;
}

function currentVersionOf(root: string): string | null {
  try {
    return basename(readlinkSync(join(root, "current")));
  } catch {
    return null;
  }
}

/** Writes atomically, as the owner of the data directory even when root runs it. */
function write(dataDir: string, name: string, value: object): void {
  const folder = requestFolder(dataDir);
  const stage = join(folder, `${name}.new`);
  runAsOwner(dataDir, () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    rmSync(stage, { force: true });
    writeFileSync(stage, JSON.stringify(value), { flag: "wx", mode: 0o600, flush: true });
    renameSync(stage, join(folder, name));
  });
}

function remove(dataDir: string, name: string): void {
  runAsOwner(dataDir, () => rmSync(join(requestFolder(dataDir), name), { force: true }));
}

function read<T>(dataDir: string, name: string): T | null {
  try {
    return JSON.parse(readFileSync(join(requestFolder(dataDir), name), "utf8")) as T;
  } catch {
    return null;
  }
}
