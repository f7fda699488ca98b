import { renameSync, writeFileSync } from "node:fs";

/** A wall clock for a process: this machine's with an offset that libfaketime reads from a file at each look. */
export interface AdjustableClock {
  /** What the process's environment must hold beside LD_PRELOAD. */
  env: NodeJS.ProcessEnv;
  now(): number;
  /** What it showed when this machine's clock showed `at`. */
  showed(at: number): number;
  step(ms: number): void;
}

/** Makes it, ahead of this machine's clock by `aheadMs`; `file` is its own. */
export function createAdjustableClock(file: string, aheadMs: number): AdjustableClock {
  const offsets: { since: number; ms: number }[] = [];
  const set = (ms: number): void => {
    // Nobody ever reads half of it.
    writeFileSync(`${file}.new`, `${ms >= 0 ? "+" : "-"}${(Math.abs(ms) / 1_000).toFixed(3)}\n`);
    renameSync(`${file}.new`, file);
    offsets.push({ since: Date.now(), ms });
  };
  const offset = (at = Date.now()): number => offsets.findLast(({ since }) => since <= at)?.ms ?? 0;
  set(aheadMs);
  return {
    // better-sqlite3 and timers wait by the monotonic clock, which no time server sets.
    env: { FAKETIME_TIMESTAMP_FILE: file, FAKETIME_NO_CACHE: "1", FAKETIME_DONT_FAKE_MONOTONIC: "1" },
    now: () => Date.now() + offset(),
    showed: (at: number) => at + offset(at),
    step: (ms: number) => set(offset() + ms),
  };
}
