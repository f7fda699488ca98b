import type { Clock, Timer } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { ALARM_IDS } from "../../resources/alarms/alarm-types.ts";
import systemHealthEvents from "../../resources/alarms/system-health-events.ts";
import endpoints from "../../resources/devices/endpoints.ts";
import type { ActorContext, Store, Transaction } from "../../store/store.ts";
import type { HealthMonitor, HealthReason } from "./health.ts";

export interface HealthHistoryDeps {
  store: Store;
  clock: Clock;
  log: Log;
  health: Pick<HealthMonitor, "report">;
  /** Id of this appliance's endpoint. */
  endpointId(): string;
  by: ActorContext;
}

const POLL_INTERVAL_MS = 5_000;
/** @source src/resources/alarms/system-health-events.ts */
const MAX_EVENTS = 10_000;

/** Records health changes, continuing from the last recorded one. `idle` resolves once pending writes are done. */
export function createHealthHistory(deps: HealthHistoryDeps): { start(): void; stop(): void; idle(): Promise<void> } {
  const { store, clock, log, health } = deps;
  let lastRecorded: readonly HealthReason[] | null = null;
  let writing: Promise<void> | null = null;
  let timer: Timer | null = null;

  function poll(): void {
    const { reasons, status } = health.report();
    lastRecorded ??= lastRecordedReasons(deps);
    if (writing || codesOf(reasons) === codesOf(lastRecorded)) return;
    const before = lastRecorded;
    writing = store
      .write((tx) => writeChange(tx, deps, { status, reasons, before }))
      .then(() => {
        lastRecorded = reasons;
      })
      .catch((error: unknown) =>
        log.error({ event: "health.record_failed", err: error }, "failed to record a health change"),
      )
      .finally(() => {
        writing = null;
      });
  }

  return {
    start() {
      timer = clock.every(POLL_INTERVAL_MS, poll);
    },
    stop: () => timer?.cancel(),
    idle: async () => writing ?? undefined,
  };
}

interface HealthChange {
  status: "GREEN" | "YELLOW" | "RED";
  reasons: readonly HealthReason[];
  before: readonly HealthReason[];
}

function writeChange(tx: Transaction, deps: HealthHistoryDeps, { status, reasons, before }: HealthChange): void {
  const endpointId = deps.endpointId();
  const raised = difference(reasons, before);
  const cleared = difference(before, reasons);
  const changed = [...raised, ...cleared];
  const alarms = (["red", "yellow"] as const).filter((level) => changed.some((each) => each.level === level));
  tx.create(systemHealthEvents, {}, deps.by, {
    createdAt: deps.clock.now(),
    endpointId,
    endpointName: tx.get(endpoints, endpointId)?.name ?? null,
    status,
    reasons: reasons.map(({ reason }) => reason),
    event: {
      redReasons: reasonTexts("red", reasons),
      yellowReasons: reasonTexts("yellow", reasons),
      raised,
      cleared,
      all: reasons,
    },
    alarmIds: alarms.map((level) => ALARM_IDS[`onprem_server_${level}`]),
  });
  tx.run(`DELETE FROM system_health_events WHERE pk <= (SELECT MAX(pk) FROM system_health_events) - ${MAX_EVENTS}`);
}

function reasonTexts(level: HealthReason["level"], reasons: readonly HealthReason[]): string[] {
  return reasons.filter((each) => each.level === level).map(({ reason }) => reason);
}

function difference(reasons: readonly HealthReason[], others: readonly HealthReason[]): HealthReason[] {
  return reasons.filter(({ level, code }) => !others.some((other) => other.level === level && other.code === code));
}

function codesOf(reasons: readonly HealthReason[]): string {
  return reasons
    .map(({ level, code }) => `${level} ${code}`)
    .sort()
    .join("\n");
}

/** Reasons of the last recorded event of this appliance. */
function lastRecordedReasons({ store, endpointId }: HealthHistoryDeps): readonly HealthReason[] {
  const line = store.one<{ event: string | null }>(
    `SELECT v.event FROM system_health_events v JOIN endpoints e ON e.pk = v.endpoint_pk WHERE e.id = ?
     ORDER BY v.pk DESC LIMIT 1`,
    endpointId(),
  );
  const event = line?.event ? (JSON.parse(line.event) as { all?: HealthReason[] }) : null;
  return event?.all ?? [];
}
