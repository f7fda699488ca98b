import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { isBeforeStageSql } from "../resources/notifications/pipeline-stages.ts";
import type { Store } from "../store/store.ts";
import { createSystemdNotifier, type NotifySystemd } from "./systemd-notifier.ts";
import { startWatchdogThread, type WatchdogFeed } from "./watchdog-thread.ts";

/** Environment and dependencies of the notifications. */
export interface SupervisorOptions {
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Log;
  /** Default: `createSystemdNotifier`. */
  notify?: NotifySystemd | null;
  /** Default: `startWatchdogThread`. */
  startFeed?: typeof startWatchdogThread | undefined;
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
  { env, clock, log, notify = createSystemdNotifier(env, log), startFeed = startWatchdogThread }: SupervisorOptions,
  status: string,
): Timer {
  notify?.("READY=1", `STATUS=${status}`);
  const watchdogMs = watchdogTimeoutMs(env);
  const feed = notify && watchdogMs !== null ? startFeed(watchdogMs, { clock, log }) : null;
  return { cancel: () => feed?.stop() };
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
  /** Default: `startWatchdogThread`. */
  startFeed?: typeof startWatchdogThread;
}

/** A message or bell that waits longer is stuck. */
const STUCK_MS = 60_000;
/** A probe write that takes longer is stuck: a slow disk under load takes seconds. */
const STUCK_WRITE_MS = 15_000;
/** A restart that did not help is not repeated sooner. */
const GRACE_MS = 10 * 60_000;

const STUCK_SQL = `SELECT
  (SELECT COUNT(*) FROM notifications WHERE ${isBeforeStageSql("deliver")} AND stage_at < ?) AS sending,
  (SELECT COUNT(*) FROM (SELECT 1 FROM bell_rings WHERE open = 1 AND at < ? LIMIT 1)) AS bells`;

/**
 * Sends READY and lets the watchdog thread send WATCHDOG as long as the main work makes progress: a probe write is
 * committed, no due bell and no message is stuck, loopback probes are audible. A process whose event loop merely runs is
 * restarted.
 * @source EN 60849 5.4: the watchdog monitors the main routines
 */
export function createWatchdog(deps: WatchdogDeps): { ready(): void; stop(): void } {
  const { store, clock, log, tell, watchdogTimeoutMs, startFeed = startWatchdogThread } = deps;
  const startedAt = clock.monotonicMs();
  let probeStartedAt: number | null = null;
  let timer: Timer | null = null;
  let feed: WatchdogFeed | null = null;
  let stuckFor: string | null = null;

  function stuckReason(): string | null {
    if (clock.monotonicMs() - startedAt < GRACE_MS) return null;
    if (deps.isSilent?.()) return "loopback probes failed";
    const since = clock.now() - STUCK_MS;
    const stuck = store.one<{ sending: number; bells: number }>(STUCK_SQL, since, since);
    if (stuck && stuck.sending > 0) return "messages are stuck";
    return stuck && stuck.bells > 0 ? "due bells are stuck" : null;
  }

  function conclude(reason: string | null): void {
    if (reason !== null && reason !== stuckFor)
      log.error(
        { event: "watchdog.stuck", reason },
        "event loop or main work is stuck; watchdog messages stopped, the service manager will restart the appliance",
      );
    stuckFor = reason;
    feed?.allow(reason === null);
  }

  async function probe(): Promise<void> {
    if (probeStartedAt !== null) {
      if (clock.monotonicMs() - probeStartedAt > STUCK_WRITE_MS) conclude("the database does not respond");
      return;
    }
    probeStartedAt = clock.monotonicMs();
    try {
      await store.write(() => undefined, "emergency");
      conclude(stuckReason());
    } catch (error) {
      // A restart does not help against a full disk.
      if ((error as { type?: string }).type === "storage-full") return conclude(null);
      log.error({ event: "watchdog.probe_failed", err: error }, "watchdog probe failed");
      conclude("the database cannot be written");
    } finally {
      probeStartedAt = null;
    }
  }

  return {
    ready() {
      tell("READY=1", "STATUS=Messages can be sent.");
      if (watchdogTimeoutMs === null) return;
      feed = startFeed(watchdogTimeoutMs, { clock, log });
      timer = clock.every(watchdogTimeoutMs / 3, () => void probe());
    },
    stop() {
      timer?.cancel();
      feed?.stop();
      tell("STOPPING=1");
    },
  };
}
