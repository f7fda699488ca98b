import type { Access } from "../access/principal.ts";
import { type Alarms, createAlarms } from "../alarms/alarms.ts";
import { createDetectors } from "../alarms/detectors.ts";
import type { Clock } from "../base/clock.ts";
import type { Events } from "../base/events.ts";
import type { Log } from "../base/log.ts";
import type { Broadcaster } from "../broadcast/broadcaster.ts";
import type { Health } from "../health/health.ts";
import { createHealthHistory } from "../health/history.ts";
import type { Measurements } from "../health/measurements.ts";
import { createMetrics, type MetricNeeds, type Metrics } from "../health/metrics.ts";
import { type QueueLengths, queueLengths } from "../health/queues.ts";
import { createHealthSeries, type HealthSeries } from "../health/series.ts";
import type { Store } from "../store/store.ts";

/** What watches over the appliance once it can send messages. */
export interface WatchNeeds {
  store: Store;
  access: Access;
  clock: Clock;
  events: Events;
  log: Log;
  broadcaster: Pick<Broadcaster, "send">;
  health: Health;
  measurements: Measurements;
  canary: MetricNeeds["canary"];
  endpointId(): string;
}

/** What watches. */
export interface Watch {
  alarms: Alarms;
  metrics: Metrics;
  series: HealthSeries;
  stop(): Promise<void>;
}

/** Starts to measure, to write down how the health changes, and to raise alarms. */
export function startWatch(needs: WatchNeeds): Watch {
  const { store, access, health, measurements, endpointId } = needs;
  const history = createHealthHistory({ ...needs, by: access.systemBy("health") });
  const detectors = createDetectors({ reader: store, health, endpointId });
  const alarms = createAlarms({ ...needs, detectors, by: access.systemBy("alarms") });
  const metrics = createMetrics({ ...needs, reader: store, measured: measurements.last });
  const residentBytes = (): number => process.memoryUsage.rss();
  const queues = (): QueueLengths => queueLengths(store);
  const series = createHealthSeries({ ...needs, measured: measurements.last, residentBytes, queues });
  measurements.start();
  series.start();
  history.start();
  alarms.start();
  return {
    alarms,
    metrics,
    series,
    async stop() {
      series.stop();
      metrics.close();
      history.stop();
      await Promise.all([alarms.stop(), history.idle(), measurements.stop()]);
    },
  };
}
