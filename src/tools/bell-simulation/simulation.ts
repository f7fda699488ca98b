import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toOccurrence } from "../../bells/plan-source.ts";
import { type BellStore, createPlanner, type Planner, type PlanSource } from "../../bells/planner.ts";
import { type CompiledSchedule, expandCompiledSchedule } from "../../bells/schedule-expansion.ts";
import { BELL_TABLES } from "../../bells/schema.ts";
import { createTicker, type RingExecutor, type Ticker } from "../../bells/ticker.ts";
import { DAY_MS } from "../../bells/time-zones.ts";
import { createEvents } from "../../lib/events.ts";
import { silentLog } from "../../lib/log.ts";
import { createCatalogue } from "../../schema/catalogue.ts";
import { openStore } from "../../store/open-store.ts";
import { createRingLedger, type RingFinding, type RingLedger, type RingTotals } from "./ring-ledger.ts";
import { createSeededRandom, createSimulatedClock, type SimulatedClock } from "./simulated-clock.ts";

/** What is certified. */
export interface BellSimulationOptions {
  /** Their ids are their places in the list. */
  schedules: readonly CompiledSchedule[];
  /** Epoch ms. */
  fromMs: number;
  toMs: number;
  seed: number;
  restarts: number;
  steps: number;
  suspends: number;
  /** Schedules that are written at an instant: the plan follows. In order of time. */
  changes?: readonly SimulatedChange[];
  /** For tests alone: a part that is replaced by one with a bug. */
  plant?: FaultInjection;
  /** Told now and then how far the simulation has come. */
  progress?(doneMs: number): void;
}

/** A schedule that rings otherwise from an instant on. own choice: no ring lies within a day of it */
export interface SimulatedChange {
  atMs: number;
  owner: number;
  after: CompiledSchedule;
}

/** Parts with a bug, to see that it is found. */
export interface FaultInjection {
  source?(source: PlanSource): PlanSource;
  store?(store: BellStore): BellStore;
  port?(port: RingExecutor): RingExecutor;
}

/** What came of it. */
export interface BellCertificate {
  all: RingTotals;
  byZone: Map<string, RingTotals>;
  findings: readonly RingFinding[];
  restarts: number;
  steps: number;
  suspends: number;
}

/** What happens to the appliance; `atMs` on the clock that is never set, from the start of the simulation. */
type Disruption = { atMs: number } & (
  | { kind: "restart"; downMs: number; midway: number | null }
  | { kind: "step"; byMs: number }
  | { kind: "suspend"; forMs: number }
);

/** A look finds something to do at the latest so long after it was due: timers are not exact. */
const TIMER_JITTER_MS = 5;
const MAX_WAIT_MS = 6 * 3_600_000;
/** The wall clock does not wander further than this from the true time. */
const MAX_CLOCK_OFFSET_MS = 4 * 3_600_000;

/** The process ended; thrown in the middle of what it was doing. */
class SimulatedCrash extends Error {}

/**
 * Runs the live planner and ticker over the whole time, with mishaps at random moments: idle, or in the middle of a
 * commit or a start. What stands in for what: the clock is turned by hand, from one thing that is due to the next; the
 * database lies in memory; a counter stands where the broadcasts begin. Ends with what rang held against what was to ring.
 */
export async function simulateBells(options: BellSimulationOptions): Promise<BellCertificate> {
  const folder = mkdtempSync(join(tmpdir(), "carillon-certify-"));
  const clock = createSimulatedClock(options.fromMs);
  const fail = (error: unknown): never => {
    throw error;
  };
  const store = openStore({
    dataDir: folder,
    inMemory: true,
    catalogue: createCatalogue([]),
    tables: BELL_TABLES,
    clock,
    events: createEvents(fail),
    log: silentLog,
    onFatal: fail,
  });
  try {
    return await runSimulation(options, clock, store);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runSimulation(
  options: BellSimulationOptions,
  clock: SimulatedClock,
  store: BellStore,
): Promise<BellCertificate> {
  const { fromMs, toMs, plant = {} } = options;
  const random = createSeededRandom(options.seed);
  const schedules = [...options.schedules];
  const ledger = createRingLedger([...options.schedules], fromMs);
  const disruptions = randomDisruptions(options, random);
  const changes = [...(options.changes ?? [])];
  const limit = { crashIn: Number.POSITIVE_INFINITY };
  const mayCrash = (): void => {
    if (--limit.crashIn < 0) throw new SimulatedCrash();
  };
  const frail = crashingStore(plant.store?.(store) ?? store, mayCrash);
  const source = planSourceOf(schedules);
  const port = recordingPort(ledger, clock, mayCrash);
  const needs = { store: frail, clock, log: silentLog };
  const plans = { source: plant.source?.(source) ?? source, basis: () => "certify", keptMs: 5 * DAY_MS };
  const counts = { restarts: 0, steps: 0, suspends: 0 };
  const startProcess = (): { planner: Planner; ticker: Ticker } => {
    limit.crashIn = Number.POSITIVE_INFINITY;
    const planner = createPlanner({ ...needs, ...plans });
    return { planner, ticker: createTicker({ ...needs, planner, ringExecutor: plant.port?.(port) ?? port }) };
  };
  let process = startProcess();
  /** The wall clock when the process last could look. */
  let lookedAt = clock.now();
  let downMs = 0;

  const restart = (): void => {
    counts.restarts++;
    ledger.recordCrash(clock.now());
    clock.advance(downMs);
    process = startProcess();
  };
  /** Looks, and begins again where the process ended in the middle of it. */
  const pollTicker = async (): Promise<void> => {
    try {
      await process.ticker.poll();
      await process.ticker.plan();
    } catch (error) {
      if (!(error instanceof SimulatedCrash)) throw error;
      restart();
      return pollTicker();
    }
    ledger.recordOutage(lookedAt, clock.now());
    lookedAt = clock.now();
  };
  const applyDisruption = (mishap: Disruption): void => {
    if (mishap.kind === "step") {
      counts.steps++;
      clock.setWallClock(limitStep(mishap.byMs, clock.now() - clock.monotonicMs() - fromMs));
    } else if (mishap.kind === "suspend") {
      counts.suspends++;
      clock.advance(mishap.forMs);
    } else {
      // Nothing was going on in which the last one could have fallen.
      if (limit.crashIn !== Number.POSITIVE_INFINITY) restart();
      downMs = mishap.downMs;
      if (mishap.midway === null) restart();
      else limit.crashIn = mishap.midway;
    }
  };
  const change = async ({ owner, after }: SimulatedChange): Promise<void> => {
    ledger.recordScheduleChange(owner, clock.now(), after);
    schedules[owner] = after;
    await store.write((tx) => process.planner.replan(tx, "bell", String(owner)));
  };

  await pollTicker();
  let settleAt = fromMs + DAY_MS;
  while (clock.now() < toMs || disruptions.length > 0) {
    const untilDue = Math.max(0, (process.ticker.nextPollAt() ?? Number.POSITIVE_INFINITY) - clock.now());
    const rest = Math.min(untilDue + Math.floor(random() * TIMER_JITTER_MS), MAX_WAIT_MS);
    const untilMishap = (disruptions[0]?.atMs ?? Number.POSITIVE_INFINITY) - clock.monotonicMs();
    const untilChange = (changes[0]?.atMs ?? Number.POSITIVE_INFINITY) - clock.now();
    clock.advance(Math.max(0, Math.min(rest, untilMishap, untilChange)));
    // It looks all the time; what finds nothing due is left out.
    lookedAt = clock.now();
    if (changes[0] && clock.now() >= changes[0].atMs) await change(changes.shift() as SimulatedChange);
    if (disruptions[0] && clock.monotonicMs() >= disruptions[0].atMs)
      applyDisruption(disruptions.shift() as Disruption);
    await pollTicker();
    if (clock.now() - 2 * MAX_CLOCK_OFFSET_MS - DAY_MS <= settleAt) continue;
    ledger.settle(settleAt);
    options.progress?.(settleAt - fromMs);
    settleAt += DAY_MS;
  }
  if (limit.crashIn !== Number.POSITIVE_INFINITY) {
    restart();
    await pollTicker();
  }
  await process.ticker.stop();
  ledger.settle(toMs - MAX_CLOCK_OFFSET_MS);
  return { ...ledger.totals(), ...counts };
}

function planSourceOf(schedules: readonly CompiledSchedule[]): PlanSource {
  return {
    owners: () => schedules.map((_, place) => ({ id: String(place), kind: "bell" as const })),
    occurrences: (_reader, _kind, owner, from, to) => {
      const schedule = schedules[Number(owner)];
      return schedule ? expandCompiledSchedule(schedule, from, to).map(toOccurrence) : [];
    },
  };
}

/** Writes may be the last thing that the process did, before or after they were stored. */
function crashingStore(store: BellStore, mayCrash: () => void): BellStore {
  return {
    ...store,
    async write(fn, lane) {
      mayCrash();
      const result = await store.write(fn, lane);
      mayCrash();
      return result;
    },
  };
}

function recordingPort(account: RingLedger, clock: SimulatedClock, mayCrash: () => void): RingExecutor {
  /** Rings that began lately: after a restart the broadcasts know. */
  const begun = new Map<string, number>();
  let forgetAt = 50_000;
  return {
    prepare: async () => null,
    arm: () => mayCrash(),
    start(rings) {
      for (const ring of rings) {
        mayCrash();
        account.recordStart(ring, clock.now());
        begun.set(ring.id, ring.at);
      }
      if (begun.size < forgetAt) return;
      for (const [id, at] of begun) if (at < clock.now() - DAY_MS) begun.delete(id);
      forgetAt = begun.size + 50_000;
    },
    cancel: async () => undefined,
    hasStarted: ({ id }) => begun.has(id),
    recordMissed: (_tx, rings, cause) => {
      for (const ring of rings) account.recordMiss(ring, cause);
    },
  };
}

/** Steps that lead too far away lead back. */
function limitStep(byMs: number, offsetMs: number): number {
  return Math.abs(offsetMs + byMs) > MAX_CLOCK_OFFSET_MS ? -Math.sign(offsetMs) * Math.abs(byMs) : byMs;
}

function randomDisruptions(
  { fromMs, toMs, restarts, steps, suspends }: BellSimulationOptions,
  chance: () => number,
): Disruption[] {
  const spanMs = toMs - fromMs - DAY_MS;
  const at = (): number => Math.floor(chance() * spanMs) + DAY_MS / 2;
  /** Seconds mostly, now and then hours. */
  const length = (longestS: number): number => Math.round(1_000 * longestS ** chance());
  const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);
  return [
    ...times(restarts, (): Disruption => {
      const midway = chance() < 0.5 ? Math.floor(chance() * 12) : null;
      return { kind: "restart", atMs: at(), downMs: length(3 * 3_600), midway };
    }),
    ...times(steps, (): Disruption => {
      return { kind: "step", atMs: at(), byMs: length(3 * 3_600) * (chance() < 0.5 ? -1 : 1) };
    }),
    ...times(suspends, (): Disruption => ({ kind: "suspend", atMs: at(), forMs: length(600) })),
  ].sort((a, b) => a.atMs - b.atMs);
}
