import type { Clock, Timer } from "../lib/clock.ts";
import { ConflictError, invalidValue } from "../lib/errors.ts";
import type { Events } from "../lib/events.ts";
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

/** What alarms are made of. */
export interface AlarmDeps extends SystemMessageDeps {
  clock: Clock;
  events: Events;
  detectors: readonly AlarmDetector[];
  /** This appliance's endpoint, where faults are whose teller names no other. */
  endpointId(): string;
  hold?: HoldOff;
}

/** The watch over the appliance. */
export interface Alarms {
  /** Takes up what an earlier run left, then looks every 5 s and whenever a room tells of a change. */
  start(): void;
  stop(): Promise<void>;
  /** Resolves once nothing that was asked for is under way. */
  idle(): Promise<void>;
  /**
   * Somebody says that an alarm is OK; its event. Throws CallerError for another alarm or status than those that people
   * may set, ConflictError when it is not active.
   */
  setManually(alarmId: string, status: unknown, by: ActorContext): Promise<AlarmEvent>;
}

const POLL_INTERVAL_MS = 5_000;

/** Makes the watch. One look is under way at a time, so that every change of status is written once. */
export function createAlarms(needs: AlarmDeps): Alarms {
  const { store, clock, events, log, detectors, by, hold = DEFAULT_HOLD_OFF } = needs;
  const abortController = new AbortController();
  const detectorCache = new Map<AlarmDetector, { at: number; found: readonly AlarmFinding[] }>();
  let conditions: Map<string, { key: AlarmConditionKey; fault: AlarmCondition }> | null = null;
  let queue: Promise<unknown> = Promise.resolve();
  let isScheduled = false;
  let timer: Timer | null = null;
  let stopListening: (() => void)[] = [];

  function enqueue<T>(work: () => Promise<T>): Promise<T> {
    const run = queue.then(work);
    queue = run.catch(() => undefined);
    return run;
  }

  function wake(): void {
    if (isScheduled || abortController.signal.aborted) return;
    isScheduled = true;
    enqueue(async () => {
      isScheduled = false;
      await evaluateAll();
      await runPendingAlarmActions(needs, abortController.signal);
    }).catch((error: unknown) => log.error({ err: error }, "looking for alarms failed"));
  }

  function activeConditions(): NonNullable<typeof conditions> {
    conditions ??= new Map(loadActiveConditions(store, clock.now()).map((each) => [conditionKey(each.key), each]));
    return conditions;
  }

  /** What each alarm's detector found; alarms whose detector failed are left out, since nothing is known of them. */
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
        log.error({ err: error, alarms: detector.alarms }, "a detector of alarms failed");
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
          evaluateCondition(activeConditions().get(conditionKey(key))?.fault ?? new Map(), seen, now, hold),
          now,
        );
      }
    }
  }

  /** Memory follows the rows: what could not be written is looked at again. */
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
    if (seen.condition.size > 0) activeConditions().set(conditionKey(key), { key, fault: seen.condition });
    else activeConditions().delete(conditionKey(key));
    return event;
  }

  /** Keeps what a room told, until it takes it back. */
  function recordReportedFault({ alarm, code, endpointId, reason }: ReportedFault): void {
    if (!(ALARM_TYPES as readonly string[]).includes(alarm)) return;
    const key = [alarm, endpointId ?? needs.endpointId(), code];
    const written = store.write((tx) => {
      if (reason === null)
        tx.run("DELETE FROM alarm_reported_faults WHERE alarm = ? AND endpoint = ? AND code = ?", ...key);
      else {
        const sql =
          "INSERT OR REPLACE INTO alarm_reported_faults (alarm, endpoint, code, reason, at) VALUES (?, ?, ?, ?, ?)";
        tx.run(sql, ...key, reason, clock.now());
      }
    });
    written.then(evaluateNow).catch((error: unknown) => log.error({ err: error }, "a fault that was told is lost"));
  }

  /** Looks again at once, whatever was found a moment ago. */
  function evaluateNow(): void {
    detectorCache.clear();
    wake();
  }

  return {
    start() {
      const hurried = ["plugin.changed", "load.failed", "scenario.device-unknown", "bell.missed"] as const;
      stopListening = [
        ...hurried.map((name) => events.on(name, evaluateNow)),
        events.on("fault.changed", recordReportedFault),
      ];
      timer = clock.every(POLL_INTERVAL_MS, wake);
      wake();
    },
    async stop() {
      for (const off of stopListening) off();
      timer?.cancel();
      abortController.abort();
      await queue;
    },
    async idle() {
      for (let seen: unknown = null; seen !== queue; ) {
        seen = queue;
        await queue;
      }
    },
    setManually(alarmId, status, as) {
      if (alarmId !== ALARM_IDS.scenario_device_resolution_failed) {
        throw invalidValue("alarmId", "Only events of scenario_device_resolution_failed are made by hand.");
      }
      if (status !== "OK") throw invalidValue("status", "Only OK is set by hand.");
      return enqueue(async () => {
        const active = [...activeConditions().values()].filter(
          ({ key, fault }) => ALARM_IDS[key.alarm] === alarmId && isConditionActive(fault),
        );
        let last: AlarmEvent | null = null;
        if (active.length > 0) await store.write((tx) => void tx.run(ADVANCE_WATERMARK));
        for (const { key, fault } of active)
          last = (await applyEvaluation(key, clearCondition(fault), clock.now(), as)) ?? last;
        if (!last) throw new ConflictError("The alarm is not active.");
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

/** Appliances at which an alarm has something wrong now or had before. */
function affectedKeys(
  alarm: AlarmType,
  found: readonly AlarmFinding[],
  known: ReadonlyMap<string, { key: AlarmConditionKey }>,
): AlarmConditionKey[] {
  const endpoints = new Set(found.map(({ endpointId }) => endpointId));
  for (const { key } of known.values()) if (key.alarm === alarm) endpoints.add(key.endpointId);
  return [...endpoints].map((endpointId) => ({ alarm, endpointId }));
}
