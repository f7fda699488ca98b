import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DaemonState } from "../ops/diagnostics.ts";

/** A switch from one version to another that nobody has judged yet. */
export interface PendingVersionSwitch {
  /** The upgrade. */
  file: string;
  from: string;
  to: string;
  /** What the link `current` led to before. */
  old: string;
  /** The data of before. */
  backup: string;
  /** How well the old version was. */
  status: DaemonState["status"];
}

const FILE_NAME = "switching.json";

/** Notes beside the versions, where root alone writes, that a switch is to be judged, also after the machine went down. */
export function recordVersionSwitch(root: string, made: PendingVersionSwitch): void {
  const arriving = join(root, `${FILE_NAME}.arriving`);
  writeFileSync(arriving, JSON.stringify(made), { mode: 0o600, flush: true });
  renameSync(arriving, join(root, FILE_NAME));
}

/** The switch to this upgrade that nobody has judged; null when there is none. */
export function pendingVersionSwitch(root: string, file: string): PendingVersionSwitch | null {
  try {
    const found = JSON.parse(readFileSync(join(root, FILE_NAME), "utf8")) as PendingVersionSwitch;
    return found.file === file ? found : null;
  } catch {
    return null;
  }
}

/** It was judged. */
export function clearVersionSwitch(root: string): void {
  rmSync(join(root, FILE_NAME), { force: true });
}
