import { existsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isMainThread, Worker, workerData } from "node:worker_threads";

/**
 * What a progress line says: `what` is going on and, with `parts`, how many of these files exist below `folder`.
 * @typedef {{what: string, parts?: {folder: string, files: string[], unit: string}}} Task
 */

/** A terminal's line is rewritten often; a log gets a new line, seldom. */
const TERMINAL_MS = 1_000;
const LOG_MS = 10_000;

/** Rewrites the current line of a terminal. */
const CLEAR = "\r\x1b[2K";

/**
 * Runs `work`, which blocks this thread, while another thread reports to stderr how long it has taken so far.
 * @template T
 * @param {Task} task
 * @param {() => T} work
 * @param {{terminal?: boolean, everyMs?: number}} [options]
 * @returns {T}
 */
export function withProgress(task, work, options = {}) {
  const terminal = options.terminal ?? process.stderr.isTTY === true;
  const everyMs = options.everyMs ?? (terminal ? TERMINAL_MS : LOG_MS);
  const state = new Int32Array(new SharedArrayBuffer(8));
  const reporter = new Worker(new URL(import.meta.url), { workerData: { task, terminal, everyMs, state } });
  reporter.unref();
  // Without a reporter the work goes on in silence.
  reporter.on("error", () => undefined);
  try {
    return work();
  } finally {
    Atomics.store(state, 0, 1);
    Atomics.notify(state, 0);
    // Not after the next line of this thread; a reporter that never began to wait does not write any more.
    if (Atomics.load(state, 1) === 1) Atomics.wait(state, 1, 1, 1_000);
  }
}

/** @param {{task: Task, terminal: boolean, everyMs: number, state: Int32Array}} data */
function report({ task, terminal, everyMs, state }) {
  const began = performance.now();
  let written = false;
  Atomics.store(state, 1, 1);
  while (Atomics.wait(state, 0, 0, everyMs) === "timed-out") {
    const line = `set-up: ${progressOf(task)}, ${Math.round((performance.now() - began) / 1_000)} s`;
    write(terminal ? `${CLEAR}${line}` : `${line}\n`);
    written = true;
  }
  if (terminal && written) write(CLEAR);
  Atomics.store(state, 1, 2);
  Atomics.notify(state, 1);
}

/** @param {Task} task */
function progressOf({ what, parts }) {
  if (!parts) return what;
  const done = parts.files.filter((file) => existsSync(join(parts.folder, file))).length;
  return `${what}: ${done} of ${parts.files.length} ${parts.unit}`;
}

/** @param {string} text */
function write(text) {
  try {
    writeSync(2, text);
  } catch {
    // A full pipe or a closed terminal: the next line may get through.
  }
}

if (!isMainThread && workerData?.task) report(workerData);
