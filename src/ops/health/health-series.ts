import type { Clock, Timer } from "../../lib/clock.ts";
import type { HealthMonitor } from "./health.ts";
import type { MeasurementSnapshot } from "./measurements.ts";
import type { QueueLengths } from "./queue-lengths.ts";

/** One sample; null: unknown. */
export interface HealthSample extends QueueLengths {
  /** Epoch ms. */
  at: number;
  /** 0 GREEN, 1 YELLOW, 2 RED. */
  health: number;
  loopLagMs: number | null;
  writeMs: number | null;
  diskFreeBytes: number | null;
  memoryFreeBytes: number | null;
  /** Resident memory of the process. */
  residentBytes: number;
}

/** Health samples of the last 24 hours. */
export interface HealthSeries {
  start(): void;
  stop(): void;
  /** Oldest first. */
  samples(): readonly HealthSample[];
}

export interface HealthSeriesDeps {
  clock: Clock;
  health: Pick<HealthMonitor, "report">;
  measured: Readonly<MeasurementSnapshot>;
  residentBytes(): number;
  queues(): QueueLengths;
}

const SAMPLE_INTERVAL_MS = 60_000;
/** One day; in memory only, so it restarts with the process. */
const MAX_SAMPLES = 1_440;

/** Records nothing before `start`. */
export function createHealthSeries({ clock, health, measured, residentBytes, queues }: HealthSeriesDeps): HealthSeries {
  const ring: HealthSample[] = [];
  let next = 0;
  let timer: Timer | null = null;
  const addSample = (): void => {
    ring[next] = {
      at: clock.now(),
      health: ["GREEN", "YELLOW", "RED"].indexOf(health.report().status),
      loopLagMs: measured.loopLagMs,
      writeMs: measured.writeMs,
      diskFreeBytes: measured.disk?.free ?? null,
      memoryFreeBytes: measured.memory?.free ?? null,
      residentBytes: residentBytes(),
      ...queues(),
    };
    next = (next + 1) % MAX_SAMPLES;
  };
  return {
    start() {
      timer = clock.every(SAMPLE_INTERVAL_MS, addSample);
      addSample();
    },
    stop: () => timer?.cancel(),
    samples: () => [...ring.slice(next), ...ring.slice(0, next)],
  };
}
