import type { Clock, Timer } from "../../base/clock.ts";
import type { HostedOrganisation } from "../../replication/hub/postgres/hosts.ts";
import type { NodeWork } from "../hub-doing.ts";
import { type OrganisationProcess, type ProcessNeeds, startOrganisation, type Target } from "./organisation-process.ts";
import type { Queue } from "./start-queue.ts";

/** How an organisation's process is. Times are epoch ms. */
export interface KeeperReport extends HostedOrganisation {
  state: "queued" | "starting" | "acts" | "stands-by" | "ended";
  since: number;
  /** What it does in that state that takes long; null for nothing. */
  work: NodeWork | null;
  pid: number | null;
  /** How often it was started again. */
  restarts: number;
  /** Why it ended last, in words. */
  reason: string | null;
  /** Connections that the front handed on and that stand. */
  connections: number;
}

/** Keeps the process of one organisation running. */
export interface Keeper extends HostedOrganisation {
  readonly dataDir: string;
  /** Where it is to be reached; null while it is not. */
  target(): { at: Target; process: OrganisationProcess } | null;
  /** Connections that stand; the front counts. */
  connections: number;
  report(): KeeperReport;
  /** Resolves once the process is gone. */
  stop(): Promise<void>;
}

/** What it needs. */
export interface KeeperNeeds
  extends HostedOrganisation,
    Pick<ProcessNeeds, "dataDir" | "publicUrl" | "config" | "env"> {
  clock: Clock;
  queue: Queue;
  onLog(line: string): void;
  /** It ended without having been asked to. */
  onCrash(reason: string, againInMs: number): void;
  start?: typeof startOrganisation;
}

/** The pause before a start that follows an end: doubled each time, until one has run well. own choice */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const RAN_WELL_MS = 60_000;

/** Makes it; its first start waits for its turn. */
export function createKeeper(needs: KeeperNeeds): Keeper {
  const { clock, name, host, dataDir, queue, start = startOrganisation } = needs;
  let state: KeeperReport["state"] = "queued";
  let since = clock.now();
  let work: NodeWork | null = null;
  let process: OrganisationProcess | null = null;
  let target: Target | null = null;
  let [restarts, failures, startedAt] = [0, 0, 0];
  let reason: string | null = null;
  let pause: Timer | null = null;
  let leave = (): void => undefined;
  let gone: (() => void) | null = null;

  function become(next: KeeperReport["state"]): void {
    state = next;
    work = null;
    since = clock.now();
  }

  function turn(): void {
    become("queued");
    leave = queue.enter(begin);
  }

  function begin(): void {
    become("starting");
    startedAt = clock.monotonicMs();
    const own = start({
      ...{ name, dataDir, publicUrl: needs.publicUrl, config: needs.config, env: needs.env, clock, onLog: needs.onLog },
      onTurn(next) {
        target = next;
        become(next ? "acts" : "stands-by");
        leave();
      },
      onWork(next) {
        work = next;
      },
      onEnd: ended,
    });
    process = own;
  }

  function ended(why: string): void {
    [process, target, reason] = [null, null, why];
    leave();
    become("ended");
    if (gone) {
      gone();
      return;
    }
    if (clock.monotonicMs() - startedAt > RAN_WELL_MS) failures = 0;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10));
    failures += 1;
    restarts += 1;
    needs.onCrash(why, pauseMs);
    pause = clock.after(pauseMs, turn);
  }

  turn();
  return {
    ...{ name, host, dataDir, connections: 0 },
    target: () => target && process && { at: target, process },
    report() {
      const pid = process?.pid ?? null;
      return { name, host, state, since, work, pid, restarts, reason, connections: this.connections };
    },
    stop() {
      pause?.cancel();
      leave();
      if (!process) return Promise.resolve();
      const own = process;
      return new Promise((resolve) => {
        gone = resolve;
        own.stop();
      });
    },
  };
}
