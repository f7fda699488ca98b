import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** The host machine. */
export interface HostMachine {
  /** Changes with each boot; null if unknown. */
  bootId: string | null;
  /** False if the clock was not set since boot. */
  isClockSet(): Promise<boolean>;
}

/** Reads kernel and systemd state. If neither tells whether the clock is set, it is trusted. */
export async function readHostMachine(): Promise<HostMachine> {
  const bootId = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => null);
  return { bootId: bootId?.trim() ?? null, isClockSet };
}

/** A battery-backed clock counts as set. */
async function isClockSet(): Promise<boolean> {
  const seconds = await readFile("/sys/class/rtc/rtc0/since_epoch", "utf8").catch(() => "0");
  if (Number(seconds) > 0) return true;
  try {
    const args = ["show", "--property=NTPSynchronized", "--value"];
    const { stdout } = await promisify(execFile)("timedatectl", args, { timeout: 5_000 });
    return stdout.trim() !== "no";
  } catch {
    return true;
  }
}
