import type { TenantHost } from "../ha/tenant-hosts.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { NodeProgress } from "../wiring/cloud-node/node-status.ts";
import type { StartQueue } from "./start-queue.ts";
import {
  type ProcessAddress,
  startTenantProcess,
  type TenantProcess,
  type TenantProcessDeps,
} from "./tenant-process.ts";

/** How an organisation's process is. Times are epoch ms. */
export interface TenantProcessStatus extends TenantHost {
  state: "queued" | "starting" | "acts" | "stands-by" | "ended";
  since: number;
  /** What it does in that state that takes long; null for nothing. */
  work: NodeProgress | null;
  pid: number | null;
  /** How often it was started again. */
  restarts: number;
  /** Why it ended last, in words. */
  reason: string | null;
  /** Connections that the front handed on and that stand. */
  connections: number;
}

/** Keeps the process of one organisation running. */
export interface TenantSupervisor extends TenantHost {
  readonly dataDir: string;
  /** Where it is to be reached; null while it is not. */
  target(): { at: ProcessAddress; process: TenantProcess } | null;
  /** Connections that stand; the front counts. */
  connections: number;
  status(): TenantProcessStatus;
  /** Resolves once the process is gone. */
  stop(): Promise<void>;
}

/** What it needs. */
export interface TenantSupervisorDeps
  extends TenantHost,
    Pick<TenantProcessDeps, "dataDir" | "publicUrl" | "config" | "env"> {
  clock: Clock;
  queue: StartQueue;
  onLog(line: string): void;
  /** It ended without having been asked to. */
  onCrash(reason: string, againInMs: number): void;
  start?: typeof startTenantProcess;
}

/** The pause before a start that follows an end: doubled each time, until one has run well. own choice */
const INITIAL_BACKOFF_MS = 500;
const MAX_BACKOFF_MS = 30_000;
const STABLE_AFTER_MS = 60_000;

/** Makes it; its first start waits for its turn. */
export function createTenantSupervisor(needs: TenantSupervisorDeps): TenantSupervisor {
  const { clock, name, host, dataDir, queue, start = startTenantProcess } = needs;
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
    const own = start({
      ...{ name, dataDir, publicUrl: needs.publicUrl, config: needs.config, env: needs.env, clock, onLog: needs.onLog },
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
    process = own;
  }

  function onProcessEnd(why: string): void {
    [process, target, reason] = [null, null, why];
    leaveQueue();
    enterState("ended");
    if (onStopped) {
      onStopped();
      return;
    }
    if (clock.monotonicMs() - startedAt > STABLE_AFTER_MS) failures = 0;
    const pauseMs = Math.min(MAX_BACKOFF_MS, INITIAL_BACKOFF_MS * 2 ** Math.min(failures, 10));
    failures += 1;
    restarts += 1;
    needs.onCrash(why, pauseMs);
    backoffTimer = clock.after(pauseMs, enqueueStart);
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
      const own = process;
      return new Promise((resolve) => {
        onStopped = resolve;
        own.stop();
      });
    },
  };
}
