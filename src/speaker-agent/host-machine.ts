import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** What an agent knows of the machine that it runs on. */
export interface HostMachine {
  /** Differs after each start of the machine; null where that can't be known. */
  bootId: string | null;
  /** False when the machine began with a clock that nobody has set since. */
  isClockSet(): Promise<boolean>;
}

/** Reads what the kernel and systemd say. own choice: where nobody says whether the clock is set, it is believed. */
export async function readHostMachine(): Promise<HostMachine> {
  const bootId = await readFile("/proc/sys/kernel/random/boot_id", "utf8").catch(() => null);
  return { bootId: bootId?.trim() ?? null, isClockSet };
}

/** A clock that goes on while the machine is off is as good as one that was set. */
async function isClockSet(): Promise<boolean> {
  const seconds = await readFile("/sys/class/rtc/rtc0/since_epoch", "utf8").catch(() => "0");
  if (Number(seconds) > 0) return true;
  try {
    const asked = ["show", "--property=NTPSynchronized", "--value"];
    const { stdout } = await promisify(execFile)("timedatectl", asked, { timeout: 5_000 });
    return stdout.trim() !== "no";
  } catch {
    return true;
  }
}
