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
 * What the daemon, which may change neither its program nor its service, leaves in `<data>/upgrade` for
 * `carillon upgrade --ordered`, which runs as root, and what comes back.
 */
export interface UpgradeRequest {
  /** Of the order's activity. */
  id: string;
  /** The upgrade, in `<data>/files`; SHA-256, hex. */
  sha256: string;
  /** The version that ran when it was ordered. */
  from: string;
}

/** What became of an order. */
export type UpgradeRequestResult = { id: string } & (
  | { from: string; to: string; rolledBack: boolean; fault: null }
  /** Nothing was changed, or the machine needs somebody; in words. */
  | { fault: string }
);

const requestFolder = (dataDir: string): string => join(dataDir, "upgrade");
/** Systemd looks at the first name. */
const FILE_NAMES = { order: "order.json", taken: "taken.json", end: "end.json" } as const;

/** Leaves an order; a later one takes its place. */
export function writeUpgradeRequest(dataDir: string, order: UpgradeRequest): void {
  for (const name of [FILE_NAMES.taken, FILE_NAMES.end]) remove(dataDir, name);
  write(dataDir, FILE_NAMES.order, order);
}

/** The order that nobody has ended yet; null when there is none. */
export function pendingUpgradeRequest(dataDir: string): UpgradeRequest | null {
  return read<UpgradeRequest>(dataDir, FILE_NAMES.order);
}

/** Takes an order back that nobody took up. */
export function withdrawUpgradeRequest(dataDir: string): void {
  remove(dataDir, FILE_NAMES.order);
}

/** Says that somebody is at it. */
export function acknowledgeUpgradeRequest(dataDir: string, { id }: UpgradeRequest): void {
  write(dataDir, FILE_NAMES.taken, { id });
}

/** True once somebody is at it. */
export function isUpgradeRequestAcknowledged(dataDir: string, id: string): boolean {
  return read<{ id: string }>(dataDir, FILE_NAMES.taken)?.id === id;
}

/** Says what became of an order, and ends it. */
export function completeUpgradeRequest(dataDir: string, end: UpgradeRequestResult): void {
  write(dataDir, FILE_NAMES.end, end);
  withdrawUpgradeRequest(dataDir);
}

/** What became of an order; null while that is open. */
export function upgradeRequestResult(dataDir: string, id: string): UpgradeRequestResult | null {
  const end = read<UpgradeRequestResult>(dataDir, FILE_NAMES.end);
  return end?.id === id ? end : null;
}

/** The file of an order; null for what is no hash. */
export function upgradeFilePath(dataDir: string, sha256: string): string | null {
  return /^[0-9a-f]{64}$/.test(sha256) ? join(dataDir, "files", sha256.slice(0, 2), sha256) : null;
}

/** The folder with `versions` and the link `current` that `program`, the running file, belongs to; null when it isn't laid out so. */
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

/** Whole or not at all, and the daemon's also where root writes. */
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
