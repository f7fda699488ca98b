import { type Alarms, createAlarms } from "../alarms/alarms.ts";
import { createDetectors } from "../alarms/detectors.ts";
import type { AccessControl } from "../auth/principal.ts";
import type { Clock } from "../lib/clock.ts";
import type { Events } from "../lib/events.ts";
import type { Log } from "../lib/log.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import type { HealthMonitor } from "../ops/health/health.ts";
import { createHealthHistory } from "../ops/health/health-history.ts";
import { createHealthSeries, type HealthSeries } from "../ops/health/health-series.ts";
import type { Measurements } from "../ops/health/measurements.ts";
import { createMetrics, type Metrics, type MetricsDeps } from "../ops/health/metrics.ts";
import { type QueueLengths, queueLengths } from "../ops/health/queue-lengths.ts";
import type { Store } from "../store/store.ts";

export interface MonitoringDeps {
  store: Store;
  access: AccessControl;
  clock: Clock;
  events: Events;
  log: Log;
  notificationService: Pick<NotificationService, "send">;
  health: HealthMonitor;
  measurements: Measurements;
  canary: MetricsDeps["canary"];
  loopGuard: MetricsDeps["loopGuard"];
  endpointId(): string;
}

export interface Monitoring {
  alarms: Alarms;
  metrics: Metrics;
  series: HealthSeries;
  start(): void;
  stop(): Promise<void>;
}

/** Measurements, the health history and alarms. */
export function createMonitoring(deps: MonitoringDeps): Monitoring {
  const { store, access, health, measurements, endpointId } = deps;
  const history = createHealthHistory({ ...deps, by: access.systemContext("health") });
  const detectors = createDetectors({ reader: store, health, endpointId });
  const alarms = createAlarms({ ...deps, detectors, by: access.systemContext("alarms") });
  const metrics = createMetrics({ ...deps, reader: store, measured: measurements.latest });
  const residentBytes = (): number => process.memoryUsage.rss();
  const queues = (): QueueLengths => queueLengths(store);
  const series = createHealthSeries({ ...deps, measured: measurements.latest, residentBytes, queues });
  return {
    alarms,
    metrics,
    series,
    start() {
      measurements.start();
      series.start();
      history.start();
      alarms.start();
    },
    async stop() {
      series.stop();
      metrics.stop();
      history.stop();
      await Promise.all([alarms.stop(), history.idle(), measurements.stop()]);
    },
  };
}
