import { spawn } from "node:child_process";
import type { Log } from "../lib/log.ts";

/** Sends states to the service manager: `READY=1`, `WATCHDOG=1`, `STATUS=…`. @source sd_notify(3) */
export type NotifySystemd = (...states: string[]) => void;

/**
 * Uses systemd-notify, since Node has no Unix datagram sockets; null without a supervisor.
 * @source systemd-notify(1)
 */
export function createSystemdNotifier(
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): NotifySystemd | null {
  if (env.NOTIFY_SOCKET === undefined) return null;
  return (...states) => {
    const child = spawn("systemd-notify", states, { stdio: "ignore" });
    child.on("error", (error) => log.error({ event: "systemd.notify_failed", err: error }, "systemd-notify failed"));
  };
}
