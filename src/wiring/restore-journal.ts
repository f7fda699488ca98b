import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where a restore that was decided on stands, until it is done. */
const JOURNAL = "restoring.json";

/** What is put in the place of what; names are relative to the data directory. */
export interface RestoreReplacement {
  /** Folder with the new. */
  stage: string;
  /** Folder for the old. */
  aside: string;
  names: readonly string[];
}

/** Decides on a replacement: from here on it is carried out, also after a crash. */
export function commitRestore(dataDir: string, replacement: RestoreReplacement): void {
  writeJournal(dataDir, { ...replacement, cleared: false });
  completePendingRestore(dataDir);
}

/** Ends what was decided on, where a crash interrupted it; does nothing anywhere else. By one process at a time. */
export function completePendingRestore(dataDir: string): void {
  const journal = join(dataDir, JOURNAL);
  if (!existsSync(journal)) return;
  const state = JSON.parse(readFileSync(journal, "utf8")) as RestoreReplacement & { cleared: boolean };
  const { stage, aside, names } = state;
  if (!state.cleared) {
    moveOldDataAside(names, dataDir, join(dataDir, aside));
    // What lies in the data directory from now on is new.
    writeJournal(dataDir, { ...state, cleared: true });
  }
  moveFiles(names, join(dataDir, stage), dataDir);
  rmSync(join(dataDir, stage), { recursive: true, force: true });
  rmSync(journal);
}

/** True while a restore was decided on and is not done. */
export function isRestorePending(dataDir: string): boolean {
  return existsSync(join(dataDir, JOURNAL));
}

/** No folder is made where there is nothing to keep: an empty one would look like data that were lost. */
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
  const arriving = join(dataDir, `${JOURNAL}.arriving`);
  writeFileSync(arriving, JSON.stringify(state), { mode: 0o600, flush: true });
  renameSync(arriving, join(dataDir, JOURNAL));
}
