import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../lib/durable-file.ts";

/** Journal of a restore in progress; it exists until the restore is complete. */
const JOURNAL = "restoring.json";

/** Files to replace; names are relative to the data directory. */
export interface RestoreReplacement {
  /** Folder with the new files. */
  stage: string;
  /** Folder for the old files. */
  aside: string;
  names: readonly string[];
}

/** Commits to a replacement: from here on it is completed, even after a crash. */
export function commitRestore(dataDir: string, replacement: RestoreReplacement): void {
  writeJournal(dataDir, { ...replacement, cleared: false });
  completePendingRestore(dataDir);
}

/** Completes a committed restore that a crash interrupted; otherwise does nothing. One process at a time. */
export function completePendingRestore(dataDir: string): void {
  const journal = join(dataDir, JOURNAL);
  if (!existsSync(journal)) return;
  const state = JSON.parse(readFileSync(journal, "utf8")) as RestoreReplacement & { cleared: boolean };
  const { stage, aside, names } = state;
  if (!state.cleared) {
    moveOldDataAside(names, dataDir, join(dataDir, aside));
    // From here on, files in the data directory are new ones.
    writeJournal(dataDir, { ...state, cleared: true });
  }
  moveFiles(names, join(dataDir, stage), dataDir);
  rmSync(join(dataDir, stage), { recursive: true, force: true });
  rmSync(journal);
}

export function isRestorePending(dataDir: string): boolean {
  return existsSync(join(dataDir, JOURNAL));
}

/** Creates no folder if there is nothing to keep: an empty one would look like lost data. */
function moveOldDataAside(names: readonly string[], dataDir: string, aside: string): void {
  const old = names.filter((name) => existsSync(join(dataDir, name)));
  if (old.length === 0) return;
  mkdirSync(aside, { recursive: true, mode: 0o700 });
  moveFiles(old, dataDir, aside);
}

function moveFiles(names: readonly string[], from: string, to: string): void {
  for (const name of names) if (existsSync(join(from, name))) renameSync(join(from, name), join(to, name));
}

function writeJournal(dataDir: string, state: RestoreReplacement & { cleared: boolean }): void {
  replaceFile(join(dataDir, JOURNAL), JSON.stringify(state));
}
