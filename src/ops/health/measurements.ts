import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import type { Store } from "../../store/store.ts";
import type { HealthReason, HealthSource } from "./health.ts";
import type { FreeSpace, HostMetrics } from "./host-metrics.ts";
import { createTableIntegrityCheck } from "./table-integrity.ts";

/** Latest measurements; null: unknown. */
export interface MeasurementSnapshot {
  disk: FreeSpace | null;
  memory: FreeSpace | null;
  loopLagMs: number | null;
  /** From the request of a write to its COMMIT, ms. */
  writeMs: number | null;
  clockSynchronised: boolean | null;
  /** Last step of the wall clock, ms; null if it was not set within the last 15 minutes. */
  clockStepMs: number | null;
  /** Damaged tables with the error. */
  damaged: ReadonlyMap<string, string>;
}

/** Measures the host periodically. */
export interface Measurements {
  start(): void;
  stop(): Promise<void>;
  readonly latest: Readonly<MeasurementSnapshot>;
  healthSource: HealthSource;
}

export interface MeasurementDeps {
  store: Store;
  clock: Clock;
  log: Log;
  host: HostMetrics;
  dataDir: string;
}

const INTERVAL_MS = 10_000;
/** The check spawns a process. */
const CLOCK_CHECK_EVERY_ROUNDS = 30;
const CLOCK_STEP_THRESHOLD_MS = 2_000;
const CLOCK_STEP_REPORT_MS = 15 * 60_000;

/** Measures nothing before `start`. */
export function createMeasurements(deps: MeasurementDeps): Measurements {
  const { store, clock, log, host, dataDir } = deps;
  const latest: MeasurementSnapshot = {
    ...{ disk: null, memory: null, loopLagMs: null, writeMs: null, clockSynchronised: null, clockStepMs: null },
    damaged: new Map(),
  };
  const tables = createTableIntegrityCheck(store);
  let rounds = 0;
  let running: Promise<void> | null = null;
  let timer: Timer | null = null;
  let offset = clock.now() - clock.monotonicMs();
  let steppedAt = Number.NEGATIVE_INFINITY;

  async function measure(): Promise<void> {
    if (rounds > 0) latest.loopLagMs = host.loopLagMs();
    latest.memory = host.memory();
    detectClockStep();
    latest.damaged = tables.next();
    latest.disk = await host.disk(dataDir);
    if (rounds++ % CLOCK_CHECK_EVERY_ROUNDS === 0) latest.clockSynchronised = await host.isClockSynchronised();
    const startedAt = clock.monotonicMs();
    await store.write(() => undefined);
    latest.writeMs = clock.monotonicMs() - startedAt;
  }

  function detectClockStep(): void {
    const current = clock.now() - clock.monotonicMs();
    const step = current - offset;
    offset = current;
    if (Math.abs(step) > CLOCK_STEP_THRESHOLD_MS) [latest.clockStepMs, steppedAt] = [step, clock.monotonicMs()];
    else if (clock.monotonicMs() - steppedAt > CLOCK_STEP_REPORT_MS) latest.clockStepMs = null;
  }

  /** A measurement that hangs is not repeated: what it waits for is the problem. */
  function measureOnce(): void {
    running ??= measure()
      .catch((error: unknown) => log.error({ event: "measurements.failed", err: error }, "failed to measure the host"))
      .finally(() => {
        running = null;
      });
  }

  return {
    start() {
      // Discards the lag of the start.
      host.loopLagMs();
      timer = clock.every(INTERVAL_MS, measureOnce);
      measureOnce();
    },
    async stop() {
      timer?.cancel();
      await running;
    },
    latest,
    healthSource: () => measurementReasons(latest),
  };
}

const GIB = 1_073_741_824;
const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

/** @source docs/decisions/0603-health-thresholds.md */
const LIMITS = {
  disk: { yellow: { share: 0.1, bytes: 2 * GIB }, red: { share: 0.03, bytes: 0.25 * GIB } },
  memory: { yellow: { share: 0.1, bytes: 0.25 * GIB }, red: { share: 0.03, bytes: 0.06 * GIB } },
  loopLagMs: { yellow: 1_000, red: 5_000 },
  writeMs: { yellow: 2_000, red: 10_000 },
} as const;

/** Health reasons of the measurements. */
export function measurementReasons(measured: Readonly<MeasurementSnapshot>): HealthReason[] {
  const { disk, memory, loopLagMs, writeMs, clockSynchronised, clockStepMs, damaged } = measured;
  return [
    ...spaceReason("disk", disk),
    ...spaceReason("memory", memory),
    ...timeReason("loopLagMs", loopLagMs, (ms) => sentence("health.loop-lag", { seconds: seconds(ms) })),
    ...timeReason("writeMs", writeMs, (ms) => sentence("health.slow-writes", { seconds: seconds(ms) })),
    ...(clockSynchronised === false
      ? [
          {
            level: "yellow" as const,
            code: "clock",
            reason: sentence("health.clock"),
          },
        ]
      : []),
    ...(clockStepMs === null
      ? []
      : [
          {
            level: "yellow" as const,
            code: "clock-step",
            reason: sentence(clockStepMs > 0 ? "health.clock-forward" : "health.clock-back", {
              seconds: seconds(Math.abs(clockStepMs)),
            }),
          },
        ]),
    ...[...damaged].map(([table, error]) => ({
      level: "red" as const,
      code: `damaged:${table}`,
      reason: sentence("health.table-damaged", { table, error }),
    })),
  ];
}

/** Low only if below both the share and the bytes: a tenth of a large disk is plenty. */
function spaceReason(code: "disk" | "memory", space: FreeSpace | null): HealthReason[] {
  if (!space) return [];
  const { free, total } = space;
  const isBelow = ({ share, bytes }: { share: number; bytes: number }): boolean => free < share * total && free < bytes;
  const level = isBelow(LIMITS[code].red) ? "red" : isBelow(LIMITS[code].yellow) ? "yellow" : null;
  const amount = { size: Math.round(free / 1_048_576), percent: ((100 * free) / total).toFixed(1) };
  const reason = sentence(code === "disk" ? "health.disk" : "health.memory", amount);
  return level ? [{ level, code, reason }] : [];
}

function timeReason(
  code: "loopLagMs" | "writeMs",
  ms: number | null,
  describe: (ms: number) => Sentence,
): HealthReason[] {
  if (ms === null) return [];
  const level = ms > LIMITS[code].red ? "red" : ms > LIMITS[code].yellow ? "yellow" : null;
  return level ? [{ level, code, reason: describe(ms) }] : [];
}
