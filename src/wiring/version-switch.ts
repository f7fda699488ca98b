import { readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../lib/durable-file.ts";
import type { DaemonState } from "../ops/diagnostics.ts";

/** A switch to another version whose health is not confirmed yet. */
export interface PendingVersionSwitch {
  /** Upgrade bundle, or the folder of an installed package. */
  file: string;
  from: string;
  to: string;
  /** Previous target of the link `current`. */
  old: string;
  /** Backup of the previous data. */
  backup: string;
  /** Health of the old version before the switch. */
  status: DaemonState["status"];
}

const FILE_NAME = "switching.json";
/** The last switch that was confirmed, which can be undone. */
const CONFIRMED_NAME = "previous.json";

/** Records a pending switch beside the versions, where only root can write; it survives a crash of the machine. */
export function recordVersionSwitch(root: string, pending: PendingVersionSwitch): void {
  replaceFile(join(root, FILE_NAME), JSON.stringify(pending));
}

/** The pending switch to this upgrade; null if there is none. */
export function pendingVersionSwitch(root: string, file: string): PendingVersionSwitch | null {
  const pending = readSwitch(join(root, FILE_NAME));
  return pending?.file === file ? pending : null;
}

function readSwitch(path: string): PendingVersionSwitch | null {
  try {
    return JSON.parse(readFileSync(path, "utf8")) as PendingVersionSwitch;
  } catch {
    return null;
  }
}

/** The pending switch was rolled back, or the confirmed one undone. */
export function clearVersionSwitch(root: string): void {
  for (const name of [FILE_NAME, CONFIRMED_NAME]) rmSync(join(root, name), { force: true });
}

/** The new version is healthy: the switch can be undone from now on. */
export function confirmVersionSwitch(root: string): void {
  renameSync(join(root, FILE_NAME), join(root, CONFIRMED_NAME));
}

/** The confirmed switch to the current version; null if there is none. */
export function confirmedVersionSwitch(root: string): PendingVersionSwitch | null {
  return readSwitch(join(root, CONFIRMED_NAME));
}
