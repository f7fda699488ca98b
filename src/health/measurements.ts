import type { Clock, Timer } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { Store } from "../store/store.ts";
import type { HealthReason, HealthSource } from "./health.ts";
import { checkTables } from "./integrity.ts";
import type { Machine, Space } from "./machine.ts";

/** What was measured last; null is not known. */
export interface Measured {
  disk: Space | null;
  memory: Space | null;
  loopLagMs: number | null;
  /** From asking for a write to its COMMIT, ms. */
  writeMs: number | null;
  clockSynchronised: boolean | null;
  /** How far the wall clock was moved when it was last set, ms; null while nobody set it within 15 minutes. */
  clockStepMs: number | null;
  /** Tables found damaged, with what is wrong. */
  damaged: ReadonlyMap<string, string>;
}

/** Measures the machine again and again. */
export interface Measurements {
  start(): void;
  stop(): Promise<void>;
  readonly last: Readonly<Measured>;
  source: HealthSource;
}

/** What is measured, and with what. */
export interface MeasurementNeeds {
  store: Store;
  clock: Clock;
  log: Log;
  machine: Machine;
  dataDir: string;
}

const EVERY_MS = 10_000;
/** Asking for it starts a process. */
const CLOCK_EVERY = 30;
const STEP_MS = 2_000;
const STEP_TOLD_MS = 15 * 60_000;

/** Makes them; nothing is measured before `start`. */
export function createMeasurements(needs: MeasurementNeeds): Measurements {
  const { store, clock, log, machine, dataDir } = needs;
  const last: Measured = {
    ...{ disk: null, memory: null, loopLagMs: null, writeMs: null, clockSynchronised: null, clockStepMs: null },
    damaged: new Map(),
  };
  const tables = checkTables(store);
  let rounds = 0;
  let running: Promise<void> | null = null;
  let timer: Timer | null = null;
  let offset = clock.now() - clock.monotonicMs();
  let steppedAt = Number.NEGATIVE_INFINITY;

  async function measure(): Promise<void> {
    if (rounds > 0) last.loopLagMs = machine.loopLagMs();
    last.memory = machine.memory();
    followClock();
    last.damaged = tables.next();
    last.disk = await machine.disk(dataDir);
    if (rounds++ % CLOCK_EVERY === 0) last.clockSynchronised = await machine.isClockSynchronised();
    const began = clock.monotonicMs();
    await store.write(() => undefined);
    last.writeMs = clock.monotonicMs() - began;
  }

  function followClock(): void {
    const current = clock.now() - clock.monotonicMs();
    const step = current - offset;
    offset = current;
    if (Math.abs(step) > STEP_MS) [last.clockStepMs, steppedAt] = [step, clock.monotonicMs()];
    else if (clock.monotonicMs() - steppedAt > STEP_TOLD_MS) last.clockStepMs = null;
  }

  /** A round that does not come to its end is not begun again: what it waits for is what is wrong. */
  function round(): void {
    running ??= measure()
      .catch((error: unknown) => log.error({ err: error }, "the machine could not be measured"))
      .finally(() => {
        running = null;
      });
  }

  return {
    start() {
      // What held up the start says nothing of what comes.
      machine.loopLagMs();
      timer = clock.every(EVERY_MS, round);
      round();
    },
    async stop() {
      timer?.cancel();
      await running;
    },
    last,
    source: () => judge(last),
  };
}

const GIB = 1_073_741_824;
const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

/** own choice: the limits */
const LIMITS = {
  disk: { yellow: { share: 0.1, bytes: 2 * GIB }, red: { share: 0.03, bytes: 0.25 * GIB } },
  memory: { yellow: { share: 0.1, bytes: 0.25 * GIB }, red: { share: 0.03, bytes: 0.06 * GIB } },
  loopLagMs: { yellow: 1_000, red: 5_000 },
  writeMs: { yellow: 2_000, red: 10_000 },
} as const;

/** What of the measurements is not as it should be. */
export function judge(measured: Readonly<Measured>): HealthReason[] {
  const { disk, memory, loopLagMs, writeMs, clockSynchronised, clockStepMs, damaged } = measured;
  return [
    ...spaceReason("disk", "of the disk", disk),
    ...spaceReason("memory", "of the memory", memory),
    ...timeReason(
      "loopLagMs",
      loopLagMs,
      (ms) => `Work waits for up to ${seconds(ms)} s: the processor is overloaded.`,
    ),
    ...timeReason("writeMs", writeMs, (ms) => `The database takes ${seconds(ms)} s to store something.`),
    ...(clockSynchronised === false
      ? [
          {
            level: "yellow" as const,
            code: "clock",
            reason: "The clock follows no reference: bells may ring early or late.",
          },
        ]
      : []),
    ...(clockStepMs === null
      ? []
      : [
          {
            level: "yellow" as const,
            code: "clock-step",
            reason: `The clock was set ${clockStepMs > 0 ? "forward" : "back"} by ${seconds(Math.abs(clockStepMs))} s.`,
          },
        ]),
    ...[...damaged].map(([table, fault]) => ({
      level: "red" as const,
      code: `damaged:${table}`,
      reason: `The database is damaged in ${table}: ${fault}`,
    })),
  ];
}

/** Little is little of the whole and little in bytes: a tenth of a large disk is much. */
function spaceReason(code: "disk" | "memory", what: string, space: Space | null): HealthReason[] {
  if (!space) return [];
  const { free, total } = space;
  const isBelow = ({ share, bytes }: { share: number; bytes: number }): boolean => free < share * total && free < bytes;
  const level = isBelow(LIMITS[code].red) ? "red" : isBelow(LIMITS[code].yellow) ? "yellow" : null;
  const reason = `${Math.round(free / 1_048_576)} MiB ${what} are free, ${((100 * free) / total).toFixed(1)} %.`;
  return level ? [{ level, code, reason }] : [];
}

function timeReason(code: "loopLagMs" | "writeMs", ms: number | null, words: (ms: number) => string): HealthReason[] {
  if (ms === null) return [];
  const level = ms > LIMITS[code].red ? "red" : ms > LIMITS[code].yellow ? "yellow" : null;
  return level ? [{ level, code, reason: words(ms) }] : [];
}
