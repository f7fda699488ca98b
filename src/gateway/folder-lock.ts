import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UpstreamError } from "../lib/errors.ts";

/** Holds the name of the process that has the folder. */
const LOCK_FILE = "front.lock";
/** Another one may be quicker in between. own choice */
const MAX_ATTEMPTS = 10;

/**
 * Makes the folder this process's until what is answered is called; one that was killed does not have it any more. Throws
 * UpstreamError, which says who has it. own choice: a file, since what may lock one, SQLite, would look like a cloud's data.
 */
export function lockFolder(dataDir: string): () => void {
  const [lock, own, away] = ["", `.${process.pid}`, `.${process.pid}.old`].map((end) =>
    join(dataDir, LOCK_FILE + end),
  ) as [string, string, string];
  const holder = processIdentity(process.pid) ?? `${process.pid}`;
  writeFileSync(own, holder, { mode: 0o600 });
  try {
    for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
      if (tryLink(own, lock)) return () => void (read(lock) === holder && rmSync(lock, { force: true }));
      const other = read(lock);
      if (other === null) continue;
      if (isAlive(other)) throw lockedError(dataDir, other);
      // Of two that find it left behind, one takes it away; whoever takes what is another's by now gives it back.
      if (tryRename(lock, away) && read(away) !== other) tryLink(away, lock);
      rmSync(away, { force: true });
    }
    throw lockedError(dataDir, read(lock));
  } finally {
    rmSync(own, { force: true });
  }
}

/** A process and when it began, as its number may be another one's later; null for none. @source proc(5), stat */
function processIdentity(pid: number): string | null {
  const began = read(`/proc/${pid}/stat`)?.split(") ").at(-1)?.split(" ")[19];
  return began === undefined ? null : `${pid} ${began}`;
}

function isAlive(name: string): boolean {
  const pid = Number(name.split(" ")[0]);
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const now = processIdentity(pid);
  // Another user's processes may be hidden.
  return now === null || now === name;
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

function tryRename(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

function read(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

function lockedError(dataDir: string, holder: string | null): UpstreamError {
  const who = holder === null ? "Another process" : `Process ${holder.split(" ")[0]}`;
  return new UpstreamError("starting", `${who} serves the organisations in ${dataDir}.`, { dataDir });
}
