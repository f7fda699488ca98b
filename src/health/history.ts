import type { Clock, Timer } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { ALARM_IDS } from "../resources/alarms/alarm-types.ts";
import systemHealthEvents from "../resources/alarms/system-health-events.ts";
import endpoints from "../resources/devices/endpoints.ts";
import type { By, Store, Transaction } from "../store/store.ts";
import type { Health, HealthReason } from "./health.ts";

/** What the history is written with. */
export interface HistoryNeeds {
  store: Store;
  clock: Clock;
  log: Log;
  health: Pick<Health, "report">;
  /** This appliance's endpoint. */
  endpointId(): string;
  by: By;
}

const EVERY_MS = 5_000;
/** @source declaration of system-health-events */
const MOST_KEPT = 10_000;

/** Writes down how the health changes, from where an earlier run stopped. `idle` resolves once what was seen is written. */
export function createHealthHistory(needs: HistoryNeeds): { start(): void; stop(): void; idle(): Promise<void> } {
  const { store, clock, log, health } = needs;
  let known: readonly HealthReason[] | null = null;
  let writing: Promise<void> | null = null;
  let timer: Timer | null = null;

  function look(): void {
    const { reasons, status } = health.report();
    known ??= lastKnown(needs);
    if (writing || codesOf(reasons) === codesOf(known)) return;
    const before = known;
    writing = store
      .write((tx) => writeChange(tx, needs, { status, reasons, before }))
      .then(() => {
        known = reasons;
      })
      .catch((error: unknown) => log.error({ err: error }, "a change of the health was not written down"))
      .finally(() => {
        writing = null;
      });
  }

  return {
    start() {
      timer = clock.every(EVERY_MS, look);
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

function writeChange(tx: Transaction, needs: HistoryNeeds, { status, reasons, before }: HealthChange): void {
  const endpointId = needs.endpointId();
  const raised = without(reasons, before);
  const cleared = without(before, reasons);
  const changed = [...raised, ...cleared];
  const alarms = (["red", "yellow"] as const).filter((level) => changed.some((each) => each.level === level));
  tx.create(systemHealthEvents, {}, needs.by, {
    createdAt: needs.clock.now(),
    endpointId,
    endpointName: tx.get(endpoints, endpointId)?.name ?? null,
    status,
    reasons: reasons.map(({ reason }) => reason),
    event: { redReasons: at("red", reasons), yellowReasons: at("yellow", reasons), raised, cleared, all: reasons },
    alarmIds: alarms.map((level) => ALARM_IDS[`onprem_server_${level}`]),
  });
  tx.run(`DELETE FROM system_health_events WHERE pk <= (SELECT MAX(pk) FROM system_health_events) - ${MOST_KEPT}`);
}

function at(level: HealthReason["level"], reasons: readonly HealthReason[]): string[] {
  return reasons.filter((each) => each.level === level).map(({ reason }) => reason);
}

function without(reasons: readonly HealthReason[], others: readonly HealthReason[]): HealthReason[] {
  return reasons.filter(({ level, code }) => !others.some((other) => other.level === level && other.code === code));
}

function codesOf(reasons: readonly HealthReason[]): string {
  return reasons
    .map(({ level, code }) => `${level} ${code}`)
    .sort()
    .join("\n");
}

/** What was written last of this appliance. */
function lastKnown({ store, endpointId }: HistoryNeeds): readonly HealthReason[] {
  const line = store.one<{ event: string | null }>(
    `SELECT v.event FROM system_health_events v JOIN endpoints e ON e.pk = v.endpoint_pk WHERE e.id = ?
     ORDER BY v.pk DESC LIMIT 1`,
    endpointId(),
  );
  const event = line?.event ? (JSON.parse(line.event) as { all?: HealthReason[] }) : null;
  return event?.all ?? [];
}
