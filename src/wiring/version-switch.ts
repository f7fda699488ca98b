import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../lib/durable-file.ts";
import type { DaemonState } from "../ops/diagnostics.ts";

/** A switch to another version whose health is not confirmed yet. */
export interface PendingVersionSwitch {
  /** Upgrade bundle. */
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

/** Records a pending switch beside the versions, where only root can write; it survives a crash of the machine. */
export function recordVersionSwitch(root: string, pending: PendingVersionSwitch): void {
  replaceFile(join(root, FILE_NAME), JSON.stringify(pending));
}

/** The pending switch to this upgrade; null if there is none. */
export function pendingVersionSwitch(root: string, file: string): PendingVersionSwitch | null {
  try {
    const pending = JSON.parse(readFileSync(join(root, FILE_NAME), "utf8")) as PendingVersionSwitch;
    return pending.file === file ? pending : null;
  } catch {
    return null;
  }
}

/** The switch is confirmed or rolled back. */
export function clearVersionSwitch(root: string): void {
  rmSync(join(root, FILE_NAME), { force: true });
}
