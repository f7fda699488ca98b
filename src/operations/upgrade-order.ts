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
import { asOwner } from "./ownership.ts";

/**
 * What the daemon, which may change neither its program nor its service, leaves in `<data>/upgrade` for
 * `carillon upgrade --ordered`, which runs as root, and what comes back.
 */
export interface UpgradeOrder {
  /** Of the order's activity. */
  id: string;
  /** The upgrade, in `<data>/files`; SHA-256, hex. */
  sha256: string;
  /** The version that ran when it was ordered. */
  from: string;
}

/** What became of an order. */
export type UpgradeEnd = { id: string } & (
  | { from: string; to: string; rolledBack: boolean; fault: null }
  /** Nothing was changed, or the machine needs somebody; in words. */
  | { fault: string }
);

const folderOf = (dataDir: string): string => join(dataDir, "upgrade");
/** Systemd looks at the first name. */
const NAMES = { order: "order.json", taken: "taken.json", end: "end.json" } as const;

/** Leaves an order; a later one takes its place. */
export function leaveOrder(dataDir: string, order: UpgradeOrder): void {
  for (const name of [NAMES.taken, NAMES.end]) remove(dataDir, name);
  write(dataDir, NAMES.order, order);
}

/** The order that nobody has ended yet; null when there is none. */
export function orderLeft(dataDir: string): UpgradeOrder | null {
  return read<UpgradeOrder>(dataDir, NAMES.order);
}

/** Takes an order back that nobody took up. */
export function withdrawOrder(dataDir: string): void {
  remove(dataDir, NAMES.order);
}

/** Says that somebody is at it. */
export function takeOrder(dataDir: string, { id }: UpgradeOrder): void {
  write(dataDir, NAMES.taken, { id });
}

/** True once somebody is at it. */
export function isTaken(dataDir: string, id: string): boolean {
  return read<{ id: string }>(dataDir, NAMES.taken)?.id === id;
}

/** Says what became of an order, and ends it. */
export function endOrder(dataDir: string, end: UpgradeEnd): void {
  write(dataDir, NAMES.end, end);
  withdrawOrder(dataDir);
}

/** What became of an order; null while that is open. */
export function endOf(dataDir: string, id: string): UpgradeEnd | null {
  const end = read<UpgradeEnd>(dataDir, NAMES.end);
  return end?.id === id ? end : null;
}

/** The file of an order; null for what is no hash. */
export function fileOf(dataDir: string, sha256: string): string | null {
  return /^[0-9a-f]{64}$/.test(sha256) ? join(dataDir, "files", sha256.slice(0, 2), sha256) : null;
}

/** The folder with `versions` and the link `current` that `program`, the running file, belongs to; null when it isn't laid out so. */
export function versionsRoot(program: string): string | null {
  if (!existsSync(program)) return null;
  for (let folder = dirname(realpathSync(program)); folder !== dirname(folder); folder = dirname(folder)) {
    if (basename(dirname(folder)) !== "versions") continue;
    const root = dirname(dirname(folder));
    return linkIn(root) === basename(folder) ? root : null;
  }
  return null;
}

function linkIn(root: string): string | null {
  try {
    return basename(readlinkSync(join(root, "current")));
  } catch {
    return null;
  }
}

/** Whole or not at all, and the daemon's also where root writes. */
function write(dataDir: string, name: string, value: object): void {
  const folder = folderOf(dataDir);
  const stage = join(folder, `${name}.new`);
  asOwner(dataDir, () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    rmSync(stage, { force: true });
    writeFileSync(stage, JSON.stringify(value), { flag: "wx", mode: 0o600, flush: true });
    renameSync(stage, join(folder, name));
  });
}

function remove(dataDir: string, name: string): void {
  asOwner(dataDir, () => rmSync(join(folderOf(dataDir), name), { force: true }));
}

function read<T>(dataDir: string, name: string): T | null {
  try {
    return JSON.parse(readFileSync(join(folderOf(dataDir), name), "utf8")) as T;
  } catch {
    return null;
  }
}
