import { spawn } from "node:child_process";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { stagesBeforeSql } from "../resources/notifications/pipeline-stages.ts";
import type { Store } from "../store/store.ts";

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

/** Environment and dependencies of the notifications. */
export interface SupervisorOptions {
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Log;
  /** Default: `createSystemdNotifier`. */
  notify?: NotifySystemd | null;
}

/** Watchdog timeout of the service, ms; null if it has none. @source sd_watchdog_enabled(3) */
export function watchdogTimeoutMs({ WATCHDOG_USEC }: SupervisorOptions["env"]): number | null {
  const watchdogMs = Number(WATCHDOG_USEC ?? 0) / 1_000;
  return watchdogMs > 0 ? watchdogMs : null;
}

/**
 * Sends READY and, until cancelled, WATCHDOG while the event loop runs: for a process without an appliance, or without one
 * yet. Does nothing without a supervisor.
 */
export function notifyReadyAndWatchdog(
  { env, clock, log, notify = createSystemdNotifier(env, log) }: SupervisorOptions,
  status: string,
): Timer {
  notify?.("READY=1", `STATUS=${status}`);
  const watchdogMs = watchdogTimeoutMs(env);
  const timer = notify && watchdogMs !== null ? clock.every(watchdogMs / 3, () => notify("WATCHDOG=1")) : null;
  return { cancel: () => timer?.cancel() };
}

export interface WatchdogDeps {
  store: Pick<Store, "write" | "one">;
  clock: Clock;
  log: Log;
  tell: NotifySystemd;
  /** Loopback probes are inaudible; a restart may fix that. */
  isSilent?(): boolean;
  /** Watchdog timeout of the service, ms; null if it has none. */
  watchdogTimeoutMs: number | null;
}

/** A message or bell that waits longer is stuck. */
const STUCK_MS = 60_000;
/** A restart that did not help is not repeated sooner. */
const GRACE_MS = 10 * 60_000;

const STUCK_SQL = `SELECT
  (SELECT COUNT(*) FROM notifications WHERE stage IN (${stagesBeforeSql("deliver")}) AND stage_at < ?) AS sending,
  (SELECT COUNT(*) FROM (SELECT 1 FROM bell_rings WHERE open = 1 AND at < ? LIMIT 1)) AS bells`;

/**
 * Sends READY and then WATCHDOG as long as the main work makes progress: a probe write is committed, no due bell and no
 * message is stuck, loopback probes are audible. A process whose event loop merely runs is restarted.
 * @source EN 60849 5.4: the watchdog monitors the main routines
 */
export function createWatchdog(deps: WatchdogDeps): { ready(): void; stop(): void } {
  const { store, clock, log, tell, watchdogTimeoutMs } = deps;
  const startedAt = clock.monotonicMs();
  let probing = false;
  let timer: Timer | null = null;

  function stuckReason(): string | null {
    if (clock.monotonicMs() - startedAt < GRACE_MS) return null;
    if (deps.isSilent?.()) return "loopback probes failed";
    const since = clock.now() - STUCK_MS;
    const stuck = store.one<{ sending: number; bells: number }>(STUCK_SQL, since, since);
    if (stuck && stuck.sending > 0) return "messages are stuck";
    return stuck && stuck.bells > 0 ? "due bells are stuck" : null;
  }

  async function probe(): Promise<void> {
    // The previous write has not returned: the database is stuck, so send nothing.
    if (probing) return;
    probing = true;
    try {
      await store.write(() => undefined, "emergency");
      const reason = stuckReason();
      if (reason === null) tell("WATCHDOG=1");
      else
        log.error(
          { event: "watchdog.stuck", reason },
          "main work is stuck; no more watchdog messages, the appliance will be restarted",
        );
    } catch (error) {
      // A restart does not help against a full disk.
      if ((error as { type?: string }).type === "storage-full") tell("WATCHDOG=1");
      else
        log.error({ event: "watchdog.probe_failed", err: error }, "watchdog probe failed; no more watchdog messages");
    } finally {
      probing = false;
    }
  }

  return {
    ready() {
      tell("READY=1", "STATUS=Messages can be sent.");
      if (watchdogTimeoutMs !== null) timer = clock.every(watchdogTimeoutMs / 3, () => void probe());
    },
    stop() {
      timer?.cancel();
      tell("STOPPING=1");
    },
  };
}
