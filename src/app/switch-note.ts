import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { DaemonState } from "../operations/doctor.ts";

/** A switch from one version to another that nobody has judged yet. */
export interface Switch {
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

const NAME = "switching.json";

/** Notes beside the versions, where root alone writes, that a switch is to be judged, also after the machine went down. */
export function noteSwitch(root: string, made: Switch): void {
  const arriving = join(root, `${NAME}.arriving`);
  writeFileSync(arriving, JSON.stringify(made), { mode: 0o600, flush: true });
  renameSync(arriving, join(root, NAME));
}

/** The switch to this upgrade that nobody has judged; null when there is none. */
export function switchLeft(root: string, file: string): Switch | null {
  try {
    const found = JSON.parse(readFileSync(join(root, NAME), "utf8")) as Switch;
    return found.file === file ? found : null;
  } catch {
    return null;
  }
}

/** It was judged. */
export function forgetSwitch(root: string): void {
  rmSync(join(root, NAME), { force: true });
}
