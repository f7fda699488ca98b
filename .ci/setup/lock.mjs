import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { say } from "./tree.mjs";

const POLL_MS = 100;

/**
 * Runs `work` while no other process of this machine does so for the same `folder`; waits as long as it takes.
 * A lock whose process has died is taken over.
 * @template T
 * @param {string} folder
 * @param {() => T} work
 * @returns {T}
 */
export function withLock(folder, work) {
  mkdirSync(dirname(folder), { recursive: true });
  let waited = false;
  while (!take(folder)) {
    if (!waited) say("set-up: waiting for another set-up to end …");
    waited = true;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
  }
  try {
    return work();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} folder */
function take(folder) {
  const own = `${folder}.${process.pid}`;
  rmSync(own, { recursive: true, force: true });
  mkdirSync(own);
  writeFileSync(join(own, "pid"), `${process.pid}`);
  try {
    // Renaming onto a folder that is not empty fails: exactly one process gets the name.
    renameSync(own, folder);
    return true;
  } catch {
    rmSync(own, { recursive: true, force: true });
  }
  const holder = holderOf(folder);
  if (holder !== null && !alive(holder)) removeDead(folder, holder);
  return false;
}

/**
 * Moves the lock of a dead process away. Should a living one have taken the name in between, it gets it back.
 * @param {string} folder
 * @param {number} holder
 */
function removeDead(folder, holder) {
  const away = `${folder}.dead.${process.pid}`;
  rmSync(away, { recursive: true, force: true });
  try {
    renameSync(folder, away);
    if (holderOf(away) !== holder) renameSync(away, folder);
  } catch {
    // Another process was faster; the next round decides again.
  }
  rmSync(away, { recursive: true, force: true });
}

/** @param {string} folder */
function holderOf(folder) {
  try {
    return Number(readFileSync(join(folder, "pid"), "utf8"));
  } catch {
    return null;
  }
}

/** @param {number} pid */
function alive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
