import type { Clock, Timer } from "../base/clock.ts";
import type { Health } from "./health.ts";
import type { Measured } from "./measurements.ts";
import type { QueueLengths } from "./queues.ts";

/** What is kept of each moment; null is not known. */
export interface HealthSample extends QueueLengths {
  /** Epoch ms. */
  at: number;
  /** 0 GREEN, 1 YELLOW, 2 RED. */
  health: number;
  loopLagMs: number | null;
  writeMs: number | null;
  diskFreeBytes: number | null;
  memoryFreeBytes: number | null;
  /** Memory that the process holds. */
  residentBytes: number;
}

/** How the appliance was in the last 24 hours. */
export interface HealthSeries {
  start(): void;
  stop(): void;
  /** Oldest first. */
  samples(): readonly HealthSample[];
}

/** What the series is made of. */
export interface SeriesNeeds {
  clock: Clock;
  health: Pick<Health, "report">;
  measured: Readonly<Measured>;
  residentBytes(): number;
  queues(): QueueLengths;
}

const EVERY_MS = 60_000;
/** A day. own choice: kept in memory, so that it begins anew with the process */
const MOST_SAMPLES = 1_440;

/** Makes it; nothing is kept before `start`. */
export function createHealthSeries({ clock, health, measured, residentBytes, queues }: SeriesNeeds): HealthSeries {
  const ring: HealthSample[] = [];
  let next = 0;
  let timer: Timer | null = null;
  const take = (): void => {
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
    next = (next + 1) % MOST_SAMPLES;
  };
  return {
    start() {
      timer = clock.every(EVERY_MS, take);
      take();
    },
    stop: () => timer?.cancel(),
    samples: () => [...ring.slice(next), ...ring.slice(0, next)],
  };
}
