import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { UpstreamError } from "../lib/errors.ts";

/** Contains the identity of the process that holds the lock. */
const LOCK_FILE = "front.lock";
/** Another process may take the lock between two steps. */
const MAX_ATTEMPTS = 10;

/**
 * Locks the folder for this process until the returned function is called; the lock of a dead process is taken over. Throws
 * UpstreamError that names the holder. @source docs/decisions/0601-gateway.md, Folder lock
 */
export function lockFolder(dataDir: string): () => void {
  const [lock, own, stale] = ["", `.${process.pid}`, `.${process.pid}.old`].map((end) =>
    join(dataDir, LOCK_FILE + end),
  ) as [string, string, string];
  const holder = processIdentity(process.pid) ?? `${process.pid}`;
  writeFileSync(own, holder, { mode: 0o600 });
  try {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      if (tryLink(own, lock)) return () => void (read(lock) === holder && rmSync(lock, { force: true }));
      const other = read(lock);
      if (other === null) continue;
      if (isAlive(other)) throw lockedError(dataDir, other);
      // If two processes find a stale lock, one moves it away; whoever moved away a fresh lock puts it back.
      if (tryRename(lock, stale) && read(stale) !== other) tryLink(stale, lock);
      rmSync(stale, { force: true });
    }
    throw lockedError(dataDir, read(lock));
  } finally {
    rmSync(own, { force: true });
  }
}

/** Process id and start time, as ids are reused; null if there is no such process. @source proc(5), stat */
function processIdentity(pid: number): string | null {
  const startTime = read(`/proc/${pid}/stat`)?.split(") ").at(-1)?.split(" ")[19];
  return startTime === undefined ? null : `${pid} ${startTime}`;
}

function isAlive(name: string): boolean {
  const pid = Number(name.split(" ")[0]);
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
  }
  const current = processIdentity(pid);
  // Processes of other users may be hidden.
  return current === null || current === name;
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
  const owner = holder === null ? "Another process" : `Process ${holder.split(" ")[0]}`;
  return new UpstreamError("starting", `${owner} already runs a gateway on ${dataDir}.`, { dataDir });
}
