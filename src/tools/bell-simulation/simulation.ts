import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toOccurrence } from "../../bells/plan-source.ts";
import { type BellStore, createPlanner, type Planner, type PlanSource } from "../../bells/planner.ts";
import { type CompiledSchedule, expandCompiledSchedule } from "../../bells/schedule-expansion.ts";
import { BELL_TABLES } from "../../bells/schema.ts";
import { createTicker, type RingExecutor, type Ticker } from "../../bells/ticker.ts";
import { DAY_MS } from "../../lib/durations.ts";
import { createEvents } from "../../lib/events.ts";
import { silentLog } from "../../lib/log.ts";
import { createCatalogue } from "../../schema/catalogue.ts";
import { openStore } from "../../store/open-store.ts";
import { createRingLedger, type RingFinding, type RingLedger, type RingTotals } from "./ring-ledger.ts";
import { createSeededRandom, createSimulatedClock, type SimulatedClock } from "./simulated-clock.ts";

export interface BellSimulationOptions {
  /** The id of a schedule is its index in the list. */
  schedules: readonly CompiledSchedule[];
  /** Epoch ms. */
  fromMs: number;
  toMs: number;
  seed: number;
  restarts: number;
  steps: number;
  suspends: number;
  /** Schedules replaced at an instant, in order of time; the plan is updated. */
  changes?: readonly SimulatedChange[];
  /** For tests only: replaces a component by a faulty one. */
  plant?: FaultInjection;
  /** Called now and then with the simulated time that is done. */
  progress?(doneMs: number): void;
}

/** A schedule replaced from an instant on; no ring must lie within a day of it. */
export interface SimulatedChange {
  atMs: number;
  owner: number;
  after: CompiledSchedule;
}

/** Replaces components by faulty ones, to verify that the fault is detected. */
export interface FaultInjection {
  source?(source: PlanSource): PlanSource;
  store?(store: BellStore): BellStore;
  port?(port: RingExecutor): RingExecutor;
}

export interface BellCertificate {
  all: RingTotals;
  byZone: Map<string, RingTotals>;
  findings: readonly RingFinding[];
  restarts: number;
  steps: number;
  suspends: number;
}

/** A disruption of the appliance; `atMs` on the monotonic clock, from the start of the simulation. */
type Disruption = { atMs: number } & (
  | { kind: "restart"; downMs: number; midway: number | null }
  | { kind: "step"; byMs: number }
  | { kind: "suspend"; forMs: number }
);

/** Maximum delay of a poll after it is due: timers are inexact. */
const TIMER_JITTER_MS = 5;
const MAX_WAIT_MS = 6 * 3_600_000;
/** The wall clock never deviates further from true time. */
const MAX_CLOCK_OFFSET_MS = 4 * 3_600_000;

/** Simulated crash; thrown in the middle of whatever the process does. */
class SimulatedCrash extends Error {}

/**
 * Runs the real planner and ticker over the whole period with disruptions at random moments: idle, or in the middle of a
 * commit or a start. Simulated are: the clock, which jumps from one due event to the next; the database, which is in memory;
 * and the ring executor, which only records. The result compares recorded with expected rings.
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
  const crashing = crashingStore(plant.store?.(store) ?? store, mayCrash);
  const source = planSourceOf(schedules);
  const port = recordingPort(ledger, clock, mayCrash);
  const deps = { store: crashing, clock, log: silentLog };
  const plans = { source: plant.source?.(source) ?? source, basis: () => "certify", retentionMs: 5 * DAY_MS };
  const counts = { restarts: 0, steps: 0, suspends: 0 };
  const startProcess = (): { planner: Planner; ticker: Ticker } => {
    limit.crashIn = Number.POSITIVE_INFINITY;
    const planner = createPlanner({ ...deps, ...plans });
    return { planner, ticker: createTicker({ ...deps, planner, ringExecutor: plant.port?.(port) ?? port }) };
  };
  let process = startProcess();
  /** Wall time of the last poll. */
  let polledAt = clock.now();
  let downMs = 0;

  const restart = (): void => {
    counts.restarts++;
    ledger.recordCrash(clock.now());
    clock.advance(downMs);
    process = startProcess();
  };
  /** Polls; after a crash in the middle of it, restarts and polls again. */
  const pollTicker = async (): Promise<void> => {
    try {
      await process.ticker.poll();
      await process.ticker.plan();
    } catch (error) {
      if (!(error instanceof SimulatedCrash)) throw error;
      restart();
      return pollTicker();
    }
    ledger.recordOutage(polledAt, clock.now());
    polledAt = clock.now();
  };
  const applyDisruption = (disruption: Disruption): void => {
    if (disruption.kind === "step") {
      counts.steps++;
      clock.setWallClock(limitStep(disruption.byMs, clock.now() - clock.monotonicMs() - fromMs));
    } else if (disruption.kind === "suspend") {
      counts.suspends++;
      clock.advance(disruption.forMs);
    } else {
      // The previous crash was pending, but nothing was going on that it could interrupt.
      if (limit.crashIn !== Number.POSITIVE_INFINITY) restart();
      downMs = disruption.downMs;
      if (disruption.midway === null) restart();
      else limit.crashIn = disruption.midway;
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
    const untilPoll = Math.min(untilDue + Math.floor(random() * TIMER_JITTER_MS), MAX_WAIT_MS);
    const untilDisruption = (disruptions[0]?.atMs ?? Number.POSITIVE_INFINITY) - clock.monotonicMs();
    const untilChange = (changes[0]?.atMs ?? Number.POSITIVE_INFINITY) - clock.now();
    clock.advance(Math.max(0, Math.min(untilPoll, untilDisruption, untilChange)));
    // The real process polls all the time; polls without anything due are skipped.
    polledAt = clock.now();
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
    owners: () => schedules.map((_, index) => ({ id: String(index), kind: "bell" as const })),
    occurrences: (_reader, _kind, owner, from, to) => {
      const schedule = schedules[Number(owner)];
      return schedule ? expandCompiledSchedule(schedule, from, to).map(toOccurrence) : [];
    },
  };
}

/** Any write may be the last action of the process, before or after it is committed. */
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

function recordingPort(ledger: RingLedger, clock: SimulatedClock, mayCrash: () => void): RingExecutor {
  /** Recent rings; after a restart the stored notifications would tell. */
  const begun = new Map<string, number>();
  let forgetAt = 50_000;
  return {
    prepare: async () => null,
    arm: () => mayCrash(),
    start(rings) {
      for (const ring of rings) {
        mayCrash();
        ledger.recordStart(ring, clock.now());
        begun.set(ring.id, ring.at);
      }
      if (begun.size < forgetAt) return;
      for (const [id, at] of begun) if (at < clock.now() - DAY_MS) begun.delete(id);
      forgetAt = begun.size + 50_000;
    },
    cancel: async () => undefined,
    hasStarted: ({ id }) => begun.has(id),
    recordMissed: (_tx, rings, cause) => {
      for (const ring of rings) ledger.recordMiss(ring, cause);
    },
  };
}

/** Reverses steps that would deviate too far. */
function limitStep(byMs: number, offsetMs: number): number {
  return Math.abs(offsetMs + byMs) > MAX_CLOCK_OFFSET_MS ? -Math.sign(offsetMs) * Math.abs(byMs) : byMs;
}

function randomDisruptions(
  { fromMs, toMs, restarts, steps, suspends }: BellSimulationOptions,
  chance: () => number,
): Disruption[] {
  const spanMs = toMs - fromMs - DAY_MS;
  const at = (): number => Math.floor(chance() * spanMs) + DAY_MS / 2;
  /** Mostly seconds, sometimes hours. */
  const length = (longestS: number): number => Math.round(1_000 * longestS ** chance());
  const times = <T>(count: number, create: () => T): T[] => Array.from({ length: count }, create);
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
