import { spawn } from "node:child_process";
import type { Clock, Timer } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { stagesBeforeSql } from "../resources/notifications/pipeline-stages.ts";
import type { Store } from "../store/store.ts";

/** Says something to whoever started the process: `READY=1`, `WATCHDOG=1`, `STATUS=…`. @source sd_notify(3) */
export type NotifySystemd = (...words: string[]) => void;

/**
 * Speaks to systemd by its own program, since Node has no datagram sockets of the kind; null without a supervisor.
 * @source systemd-notify(1)
 */
export function createSystemdNotifier(
  env: Readonly<Record<string, string | undefined>>,
  log: Log,
): NotifySystemd | null {
  if (env.NOTIFY_SOCKET === undefined) return null;
  return (...words) => {
    const child = spawn("systemd-notify", words, { stdio: "ignore" });
    child.on("error", (error) => log.error({ err: error }, "systemd could not be told"));
  };
}

/** What supervises a process, by its environment. */
export interface SupervisorOptions {
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Log;
  /** By `systemdTell` unless given. */
  notify?: NotifySystemd | null;
}

/** Time within which systemd wants to hear of the process, ms; null when it does not. @source sd_watchdog_enabled(3) */
export function watchdogTimeoutMs({ WATCHDOG_USEC }: SupervisorOptions["env"]): number | null {
  const watchdogMs = Number(WATCHDOG_USEC ?? 0) / 1_000;
  return watchdogMs > 0 ? watchdogMs : null;
}

/**
 * Tells the supervisor that the process is ready and, until it is stopped, that its event loop turns: for one that has no
 * appliance, or none yet. Nobody is told where there is no supervisor.
 */
export function notifyReadyAndWatchdog(
  { env, clock, log, notify: tell = createSystemdNotifier(env, log) }: SupervisorOptions,
  status: string,
): Timer {
  tell?.("READY=1", `STATUS=${status}`);
  const watchdogMs = watchdogTimeoutMs(env);
  const telling = tell && watchdogMs !== null ? clock.every(watchdogMs / 3, () => tell("WATCHDOG=1")) : null;
  return { cancel: () => telling?.cancel() };
}

/** What the watchdog is told by. */
export interface WatchdogDeps {
  store: Pick<Store, "write" | "one">;
  clock: Clock;
  log: Log;
  tell: NotifySystemd;
  /** Test broadcasts are not heard, which a restart may put right. */
  isSilent?(): boolean;
  /** Time within which systemd wants to hear of us, ms; null when it does not. */
  watchdogTimeoutMs: number | null;
}

/** A message or a bell that waits for so long shows that what should take it stands still. own choice */
const STUCK_MS = 60_000;
/** What one start did not put right, the next won't: nobody is restarted for it more often than this. own choice */
const GRACE_MS = 10 * 60_000;

const STUCK_SQL = `SELECT
  (SELECT COUNT(*) FROM notifications WHERE stage IN (${stagesBeforeSql("deliver")}) AND stage_at < ?) AS sending,
  (SELECT COUNT(*) FROM (SELECT 1 FROM bell_rings WHERE open = 1 AND at < ? LIMIT 1)) AS bells`;

/**
 * Tells the supervisor that the appliance runs, and goes on telling as long as its main work gets on: a probe is stored
 * in the database, no bell that is due and no message waits, test broadcasts are heard. Who only turns the event loop is
 * restarted all the same.
 * @source EN 60849 5.4: the watchdog watches the main routines
 */
export function createWatchdog(needs: WatchdogDeps): { ready(): void; stop(): void } {
  const { store, clock, log, tell, watchdogTimeoutMs } = needs;
  const began = clock.monotonicMs();
  let probing = false;
  let timer: Timer | null = null;

  function stuckReason(): string | null {
    if (clock.monotonicMs() - began < GRACE_MS) return null;
    if (needs.isSilent?.()) return "test broadcasts are not heard";
    const since = clock.now() - STUCK_MS;
    const stuck = store.one<{ sending: number; bells: number }>(STUCK_SQL, since, since);
    if (stuck && stuck.sending > 0) return "messages are not being sent";
    return stuck && stuck.bells > 0 ? "bells that are due do not ring" : null;
  }

  async function probe(): Promise<void> {
    // The one before has not come back: the database stands still, and nothing is told.
    if (probing) return;
    probing = true;
    try {
      await store.write(() => undefined, "emergency");
      const fault = stuckReason();
      if (fault === null) tell("WATCHDOG=1");
      else log.error({ fault }, "the watchdog is no longer told: the appliance will be restarted");
    } catch (error) {
      // A full disk is not put right by a restart.
      if ((error as { type?: string }).type === "storage-full") tell("WATCHDOG=1");
      else log.error({ err: error }, "the watchdog is no longer told");
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
