import type { Clock, Timer } from "../lib/clock.ts";
import { ConflictError, invalidValue } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { createSerialQueue } from "../lib/serial-queue.ts";
import type { SystemMessageDeps } from "../notifications/engine/system-messages.ts";
import type alarmEvents from "../resources/alarms/alarm-events.ts";
import { ALARM_IDS, ALARM_TYPES, type AlarmType } from "../resources/alarms/alarm-types.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Sync } from "../store/store.ts";
import { runPendingAlarmActions } from "./alarm-notifications.ts";
import { type AlarmConditionKey, loadActiveConditions, writeTransition } from "./alarm-transitions.ts";
import { type AlarmDetector, type AlarmFinding, UNKNOWN_DEVICES_WATERMARK } from "./detectors.ts";
import {
  type AlarmCondition,
  type ConditionEvaluation,
  clearCondition,
  DEFAULT_HOLD_OFF,
  evaluateCondition,
  type HoldOff,
  isConditionActive,
} from "./hold-off.ts";

type AlarmEvent = RowOf<typeof alarmEvents>;

export interface AlarmDeps extends SystemMessageDeps {
  clock: Clock;
  events: Events;
  detectors: readonly AlarmDetector[];
  /** Endpoint of this appliance; the default for faults that name no other. */
  endpointId(): string;
  hold?: HoldOff;
}

/** Watches for alarm conditions. */
export interface Alarms {
  /** Resumes pending work, then evaluates every 5 s and after each reported change. */
  start(): void;
  stop(): Promise<void>;
  /** Resolves when no requested evaluation is in progress. */
  idle(): Promise<void>;
  /**
   * Sets an alarm to OK manually; returns its event. Throws CallerError for an alarm or status that cannot be set
   * manually, ConflictError if the alarm is not active.
   */
  setManually(alarmId: string, status: unknown, by: ActorContext): Promise<AlarmEvent>;
}

const POLL_INTERVAL_MS = 5_000;

/** Evaluations are serialized, so that every change of status is written once. */
export function createAlarms(deps: AlarmDeps): Alarms {
  const { store, clock, events, log, detectors, by, hold = DEFAULT_HOLD_OFF } = deps;
  const abortController = new AbortController();
  const detectorCache = new Map<AlarmDetector, { at: number; found: readonly AlarmFinding[] }>();
  let conditions: Map<string, { key: AlarmConditionKey; condition: AlarmCondition }> | null = null;
  const queue = createSerialQueue();
  let isScheduled = false;
  let timer: Timer | null = null;
  let stopListening: (() => void)[] = [];

  function wake(): void {
    if (isScheduled || abortController.signal.aborted) return;
    isScheduled = true;
    queue
      .run(async () => {
        isScheduled = false;
        await evaluateAll();
        await runPendingAlarmActions(deps, abortController.signal);
      })
      .catch((error: unknown) =>
        log.error({ event: "alarm.evaluation_failed", err: error }, "alarm evaluation failed"),
      );
  }

  function activeConditions(): NonNullable<typeof conditions> {
    conditions ??= new Map(loadActiveConditions(store, clock.now()).map((each) => [conditionKey(each.key), each]));
    return conditions;
  }

  /** Findings by alarm; alarms whose detector failed are absent, because their state is unknown. */
  function runDetectors(now: number): ReadonlyMap<AlarmType, readonly AlarmFinding[]> {
    const found = new Map<AlarmType, AlarmFinding[]>();
    for (const detector of detectors) {
      try {
        const before = detectorCache.get(detector);
        const isFresh = before && now - before.at < detector.everyMs && now >= before.at;
        const current = isFresh ? before : { at: now, found: detector.find(now) };
        detectorCache.set(detector, current);
        for (const alarm of detector.alarms) found.set(alarm, found.get(alarm) ?? []);
        for (const finding of current.found) found.get(finding.alarm)?.push(finding);
      } catch (error) {
        log.error({ event: "alarm.detector_failed", err: error, alarms: detector.alarms }, "alarm detector failed");
      }
    }
    return found;
  }

  async function evaluateAll(): Promise<void> {
    const now = clock.now();
    for (const [alarm, found] of runDetectors(now)) {
      for (const key of affectedKeys(alarm, found, activeConditions())) {
        const seen = found.filter(({ endpointId }) => endpointId === key.endpointId);
        await applyEvaluation(
          key,
          evaluateCondition(activeConditions().get(conditionKey(key))?.condition ?? new Map(), seen, now, hold),
          now,
        );
      }
    }
  }

  /** Memory follows the committed rows: after a failed write the conditions are evaluated again. */
  async function applyEvaluation(
    key: AlarmConditionKey,
    seen: ConditionEvaluation,
    now: number,
    as = by,
  ): Promise<AlarmEvent | null> {
    let event: AlarmEvent | null = null;
    if (seen.newStatus || seen.raised.length > 0 || seen.cleared.length > 0) {
      event = await store.write((tx) => writeTransition(tx, key, seen, now, as) as Sync<AlarmEvent | null>);
    }
    if (seen.condition.size > 0) activeConditions().set(conditionKey(key), { key, condition: seen.condition });
    else activeConditions().delete(conditionKey(key));
    return event;
  }

  /** Stores a fault that another module reported, until it is cleared. */
  function recordReportedFault({ alarm, code, endpointId, reason }: ReportedFault): void {
    if (!(ALARM_TYPES as readonly string[]).includes(alarm)) return;
    const key = [alarm, endpointId ?? deps.endpointId(), code];
    const written = store.write((tx) => {
      if (reason === null)
        tx.run("DELETE FROM alarm_reported_faults WHERE alarm = ? AND endpoint = ? AND code = ?", ...key);
      else {
        const sql =
          "INSERT OR REPLACE INTO alarm_reported_faults (alarm, endpoint, code, reason, at) VALUES (?, ?, ?, ?, ?)";
        tx.run(sql, ...key, reason, clock.now());
      }
    });
    written
      .then(evaluateNow)
      .catch((error: unknown) =>
        log.error({ event: "alarm.fault_store_failed", err: error }, "failed to store a reported fault"),
      );
  }

  /** Evaluates immediately, without waiting for the interval. */
  function evaluateNow(): void {
    detectorCache.clear();
    wake();
  }

  return {
    start() {
      const urgentEvents = ["plugin.changed", "load.failed", "scenario.device-unknown", "bell.missed"] as const;
      stopListening = [
        ...urgentEvents.map((name) => events.on(name, evaluateNow)),
        events.on("fault.changed", recordReportedFault),
      ];
      timer = clock.every(POLL_INTERVAL_MS, wake);
      wake();
    },
    async stop() {
      for (const off of stopListening) off();
      timer?.cancel();
      abortController.abort();
      await queue.idle();
    },
    async idle() {
      await queue.idle();
    },
    setManually(alarmId, status, as) {
      if (alarmId !== ALARM_IDS.scenario_device_resolution_failed) {
        throw invalidValue("alarmId", sentence("field.must-be-the-alarm-scenario-device-resolution-failed-no-other"));
      }
      if (status !== "OK")
        throw invalidValue("status", sentence("field.must-be-ok-no-other-status-can-be-set-manually"));
      return queue.run(async () => {
        const active = [...activeConditions().values()].filter(
          ({ key, condition }) => ALARM_IDS[key.alarm] === alarmId && isConditionActive(condition),
        );
        let last: AlarmEvent | null = null;
        if (active.length > 0) await store.write((tx) => void tx.run(ADVANCE_WATERMARK));
        for (const { key, condition } of active)
          last = (await applyEvaluation(key, clearCondition(condition), clock.now(), as)) ?? last;
        if (!last) throw new ConflictError(sentence("conflict.the-alarm-is-not-active"));
        evaluateNow();
        return last;
      });
    },
  };
}

interface ReportedFault {
  alarm: string;
  code: string;
  endpointId: string | null;
  reason: string | null;
}

const ADVANCE_WATERMARK = `INSERT OR REPLACE INTO alarm_watermarks (name, seq)
  VALUES ('${UNKNOWN_DEVICES_WATERMARK}', (SELECT COALESCE(MAX(seq), 0) FROM scenario_unknown_devices))`;

function conditionKey({ alarm, endpointId }: AlarmConditionKey): string {
  return `${alarm} ${endpointId}`;
}

/** Appliances for which an alarm has findings now or had some before. */
function affectedKeys(
  alarm: AlarmType,
  found: readonly AlarmFinding[],
  known: ReadonlyMap<string, { key: AlarmConditionKey }>,
): AlarmConditionKey[] {
  const endpoints = new Set(found.map(({ endpointId }) => endpointId));
  for (const { key } of known.values()) if (key.alarm === alarm) endpoints.add(key.endpointId);
  return [...endpoints].map((endpointId) => ({ alarm, endpointId }));
}
