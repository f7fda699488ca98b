import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { say } from "./tree.mjs";

const POLL_MS = 100;

/**
 * Runs `work` while no other process of this machine does so for the same `folder`; waits as long as it takes.
 * A lock whose process has died is taken over. Every step is one rename, which only one process can win: onto a folder
 * that is not empty it fails.
 * @template T
 * @param {string} folder
 * @param {() => T} work
 * @returns {T}
 */
export function withLock(folder, work) {
  mkdirSync(dirname(folder), { recursive: true });
  const own = `${folder}.${randomUUID()}`;
  mkdirSync(own);
  writeFileSync(join(own, "holder"), `${process.pid} ${own}`);
  for (let waited = false; !renamed(own, folder); waited = true) {
    if (!waited) say("set-up: waiting for another set-up to end …");
    removeDead(folder);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
  }
  try {
    return work();
  } finally {
    // Moved away whole: emptied in place, it could be taken by another process half-way.
    renameSync(folder, own);
    rmSync(own, { recursive: true });
  }
}

/**
 * Moves the lock of a dead process away, under a name that belongs to that one holding of it: whoever comes too late
 * and would move the next holder's lock fails. What it leaves is one small folder per killed set-up.
 * @param {string} folder
 */
function removeDead(folder) {
  const holder = readHolder(folder);
  if (holder && !alive(holder.pid)) renamed(folder, `${holder.own}.dead`);
}

/** @param {string} folder */
function readHolder(folder) {
  try {
    const [pid, ...own] = readFileSync(join(folder, "holder"), "utf8").split(" ");
    return { pid: Number(pid), own: own.join(" ") };
  } catch {
    return null;
  }
}

/**
 * @param {string} from
 * @param {string} to
 */
function renamed(from, to) {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "ENOENT"].includes(codeOf(error))) return false;
    throw error;
  }
}

/** @param {number} pid */
function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}
