import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";

/** What a watched process said of itself last. */
export interface LoopStatistics {
  /** 99th percentile of the event loop's delay since the start of the watch, in ms. */
  lagP99Ms: number;
  lagMaxMs: number;
  /** Longest time for which one turn kept the loop: its work and what it waited for, but not for a processor. In ms. */
  heldMaxMs: number;
  /** Most processor time that the main thread took in one turn of its loop, in ms. */
  turnMaxMs: number;
  /** Turns that took more than `LONG_TURN_MS`. */
  longTurns: number;
  rssBytes: number;
}

/** What one turn of an event loop may take. */
export const MAX_TURN_MS = 20;

const RESOLUTION_MS = 10;

/**
 * Runs in the watched process, in its main thread, and writes its pulse into the file five times a second; SIGUSR2 begins
 * anew. The kernel says what the thread has used, whatever else the machine did meanwhile.
 */
const WATCH = `
import { monitorEventLoopDelay } from "node:perf_hooks";
import { openSync, readSync, writeFileSync, renameSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
const file = process.env.CARILLON_PULSE;
if (isMainThread && file) {
  const delay = monitorEventLoopDelay({ resolution: ${RESOLUTION_MS} });
  delay.enable();
  const used = openSync("/proc/self/task/" + process.pid + "/schedstat");
  const text = Buffer.alloc(80);
  const times = () => text.toString("latin1", 0, readSync(used, text, 0, 80, 0)).split(" ").map((ns) => Number(ns) / 1e6);
  let [[workedMs, waitedMs], at, turnMaxMs, heldMaxMs, longTurns] = [times(), performance.now(), 0, 0, 0];
  setInterval(() => {
    const [[worked, waited], now] = [times(), performance.now()];
    turnMaxMs = Math.max(turnMaxMs, worked - workedMs);
    heldMaxMs = Math.max(heldMaxMs, now - at - (waited - waitedMs) - 1);
    if (worked - workedMs > ${MAX_TURN_MS}) longTurns++;
    [workedMs, waitedMs, at] = [worked, waited, now];
  }, 1).unref();
  process.on("SIGUSR2", () => {
    delay.reset();
    [turnMaxMs, heldMaxMs, longTurns] = [0, 0, 0];
  });
  setInterval(() => {
    const ms = (ns) => Math.max(0, ns / 1e6 - ${RESOLUTION_MS});
    const lags = { lagP99Ms: ms(delay.percentile(99)), lagMaxMs: ms(delay.max) };
    const pulse = { ...lags, turnMaxMs, heldMaxMs, longTurns, rssBytes: process.memoryUsage.rss() };
    writeFileSync(file + ".new", JSON.stringify(pulse));
    renameSync(file + ".new", file);
  }, 200).unref();
}`;

/** Lets `start` begin a process whose pulse goes to `file`. */
export async function withLoopMonitor<T>(file: string, start: () => Promise<T>): Promise<T> {
  const { NODE_OPTIONS: before } = process.env;
  process.env.NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(WATCH)}`;
  process.env.CARILLON_PULSE = file;
  try {
    return await start();
  } finally {
    delete process.env.CARILLON_PULSE;
    if (before === undefined) delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = before;
  }
}

/** A process that does nothing: its pulse says what the machine itself keeps everybody waiting. */
export async function startIdle(file: string): Promise<{ stop(): void }> {
  const idle = ["-e", "setInterval(() => undefined, 1e6)"];
  const child = await withLoopMonitor(file, async () => spawn(process.execPath, idle, { stdio: "ignore" }));
  return { stop: () => void child.kill() };
}

/** The pulse in `file`. */
export async function readLoopStatistics(file: string): Promise<LoopStatistics> {
  return JSON.parse(await readFile(file, "utf8")) as LoopStatistics;
}

/** The worst of each figure. */
export function worstLoopStatistics(pulses: readonly LoopStatistics[]): LoopStatistics {
  const most = (name: keyof LoopStatistics): number => Math.max(...pulses.map((pulse) => pulse[name]));
  return {
    ...{ lagP99Ms: most("lagP99Ms"), lagMaxMs: most("lagMaxMs"), turnMaxMs: most("turnMaxMs") },
    ...{ heldMaxMs: most("heldMaxMs"), longTurns: most("longTurns"), rssBytes: most("rssBytes") },
  };
}
