import type { TenantHost } from "../ha/tenant-hosts.ts";
import { backoffMs } from "../lib/backoff.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { NodeProgress } from "../wiring/cloud-node/node-status.ts";
import type { StartQueue } from "./start-queue.ts";
import {
  type ProcessAddress,
  startTenantProcess,
  type TenantProcess,
  type TenantProcessDeps,
} from "./tenant-process.ts";

/** State of a tenant process. Times are epoch ms. */
export interface TenantProcessStatus extends TenantHost {
  state: "queued" | "starting" | "acts" | "stands-by" | "ended";
  since: number;
  /** Long-running work in this state; null for none. */
  work: NodeProgress | null;
  pid: number | null;
  /** Number of restarts. */
  restarts: number;
  /** Why the process ended last; null if it never did. */
  reason: string | null;
  /** Open connections forwarded to the process. */
  connections: number;
}

/** Keeps the process of one tenant running: restarts it with exponential backoff. */
export interface TenantSupervisor extends TenantHost {
  readonly dataDir: string;
  /** Where the process listens; null while it does not. */
  target(): { at: ProcessAddress; process: TenantProcess } | null;
  /** Open connections, counted by the gateway. */
  connections: number;
  status(): TenantProcessStatus;
  /** Resolves once the process is gone. */
  stop(): Promise<void>;
}

export interface TenantSupervisorDeps
  extends TenantHost,
    Pick<TenantProcessDeps, "dataDir" | "publicUrl" | "config" | "env"> {
  clock: Clock;
  queue: StartQueue;
  onLog(line: string): void;
  /** The process exited unexpectedly; it restarts after `retryInMs`. */
  onCrash(reason: string, retryInMs: number): void;
  start?: typeof startTenantProcess;
}

/** Backoff before a restart: doubled after each exit, reset once a process has run for STABLE_AFTER_MS. */
const INITIAL_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
const STABLE_AFTER_MS = 60_000;

/** Enqueues the first start. */
export function createTenantSupervisor(deps: TenantSupervisorDeps): TenantSupervisor {
  const { clock, name, host, dataDir, queue, start = startTenantProcess } = deps;
  let state: TenantProcessStatus["state"] = "queued";
  let since = clock.now();
  let work: NodeProgress | null = null;
  let process: TenantProcess | null = null;
  let target: ProcessAddress | null = null;
  let [restarts, failures, startedAt] = [0, 0, 0];
  let reason: string | null = null;
  let backoffTimer: Timer | null = null;
  let leaveQueue = (): void => undefined;
  let onStopped: (() => void) | null = null;

  function enterState(next: TenantProcessStatus["state"]): void {
    state = next;
    work = null;
    since = clock.now();
  }

  function enqueueStart(): void {
    enterState("queued");
    leaveQueue = queue.enter(startProcess);
  }

  function startProcess(): void {
    enterState("starting");
    startedAt = clock.monotonicMs();
    const child = start({
      ...{ name, dataDir, publicUrl: deps.publicUrl, config: deps.config, env: deps.env, clock, onLog: deps.onLog },
      onRoleChange(next) {
        target = next;
        enterState(next ? "acts" : "stands-by");
        leaveQueue();
      },
      onProgress(next) {
        work = next;
      },
      onEnd: onProcessEnd,
    });
    process = child;
  }

  function onProcessEnd(exitReason: string): void {
    [process, target, reason] = [null, null, exitReason];
    leaveQueue();
    enterState("ended");
    if (onStopped) {
      onStopped();
      return;
    }
    if (clock.monotonicMs() - startedAt > STABLE_AFTER_MS) failures = 0;
    failures += 1;
    restarts += 1;
    const delayMs = backoffMs(failures, INITIAL_BACKOFF_MS, MAX_BACKOFF_MS);
    deps.onCrash(exitReason, delayMs);
    backoffTimer = clock.after(delayMs, enqueueStart);
  }

  enqueueStart();
  return {
    ...{ name, host, dataDir, connections: 0 },
    target: () => target && process && { at: target, process },
    status() {
      const pid = process?.pid ?? null;
      return { name, host, state, since, work, pid, restarts, reason, connections: this.connections };
    },
    stop() {
      backoffTimer?.cancel();
      leaveQueue();
      if (!process) return Promise.resolve();
      const child = process;
      return new Promise((resolve) => {
        onStopped = resolve;
        child.stop();
      });
    },
  };
}
