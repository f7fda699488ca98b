import type { Clock, Timer } from "../lib/clock.ts";
import { takeLongestWork } from "../lib/current-work.ts";
import type { Log } from "../lib/log.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { HealthReason } from "./health/health.ts";

/** Long turns of one kind of work. */
export interface BlockedTurns {
  turns: number;
  seconds: number;
}

/** Reports turns of the event loop that are too long, with the work that took them. */
export interface LoopGuard {
  start(): void;
  stop(): void;
  healthReasons(): HealthReason[];
  /** Long turns since the start, by work. */
  readonly blocked: ReadonlyMap<string, BlockedTurns>;
}

export interface LoopGuardDeps {
  clock: Clock;
  log: Log;
  /** Processor time of this thread so far, ms. */
  cpuMs?(): number;
  /** Default: `takeLongestWork`. */
  takeWork?(): string;
}

/** A turn is measured to this accuracy. */
const TICK_MS = 10;
/** @source docs/decisions/0415-loop-guard.md */
const LONG_TURN_MS = 50;
/** Each work is logged once in this time; the counters have all turns. */
const LOG_INTERVAL_MS = 10_000;
/** More work than there is; what comes later is counted together. */
const MAX_WORKS = 300;

/** Turns within this time count for the health. */
const HEALTH_WINDOW_MS = 5 * 60_000;
const MAX_LONG_TURNS = 60;
const VERY_LONG_TURN_MS = 2_000;

/**
 * Measures by a timer how late the loop is. Health counts only turns in which this thread used the processor itself:
 * on a busy machine the loop is late without any fault of the daemon.
 * @source docs/decisions/0415-loop-guard.md
 */
export function createLoopGuard(deps: LoopGuardDeps): LoopGuard {
  const { clock, log, cpuMs = threadCpuMs, takeWork = takeLongestWork } = deps;
  const blocked = new Map<string, BlockedTurns>();
  const logged = new Map<string, { at: number; since: number }>();
  let recent: { at: number; ms: number; work: string }[] = [];
  let timer: Timer | null = null;
  let lastAt = 0;
  let lastCpuMs = 0;

  function tick(): void {
    const now = clock.monotonicMs();
    const ms = now - lastAt - TICK_MS;
    const cpu = cpuMs();
    const usedMs = cpu - lastCpuMs;
    lastAt = now;
    lastCpuMs = cpu;
    const work = takeWork();
    if (ms > LONG_TURN_MS) report(work, ms, usedMs, now);
  }

  function report(found: string, ms: number, usedMs: number, now: number): void {
    const work = blocked.has(found) || blocked.size < MAX_WORKS ? found : "more";
    const { turns, seconds } = blocked.get(work) ?? { turns: 0, seconds: 0 };
    blocked.set(work, { turns: turns + 1, seconds: seconds + ms / 1_000 });
    if (usedMs > LONG_TURN_MS) {
      recent = recent.filter(({ at }) => at > now - HEALTH_WINDOW_MS).slice(-MAX_LONG_TURNS);
      recent.push({ at: now, ms: usedMs, work });
    }
    const last = logged.get(work);
    if (last && now - last.at < LOG_INTERVAL_MS) {
      last.since++;
      return;
    }
    const details = { work, ms: Math.round(ms), cpuMs: Math.round(usedMs), ...(last?.since && { more: last.since }) };
    log.warn({ event: "loop.blocked", ...details }, "the event loop was blocked");
    logged.set(work, { at: now, since: 0 });
  }

  return {
    blocked,
    start() {
      lastAt = clock.monotonicMs();
      lastCpuMs = cpuMs();
      takeWork();
      timer = clock.every(TICK_MS, tick);
    },
    stop: () => timer?.cancel(),
    healthReasons() {
      const since = clock.monotonicMs() - HEALTH_WINDOW_MS;
      const current = recent.filter(({ at }) => at > since);
      const worst = current.reduce((most, one) => (one.ms > most.ms ? one : most), { ms: 0, work: "" });
      if (current.length <= MAX_LONG_TURNS && worst.ms < VERY_LONG_TURN_MS) return [];
      const isOften = current.length > MAX_LONG_TURNS;
      const params = {
        ...{ limit: LONG_TURN_MS, times: isOften ? MAX_LONG_TURNS : current.length },
        ...{ longest: Math.round(worst.ms), work: worst.work },
      };
      return [
        {
          code: "loop-blocked",
          level: "yellow",
          reason: sentence(isOften ? "health.loop-blocked-often" : "health.loop-blocked", params),
        },
      ];
    },
  };
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
