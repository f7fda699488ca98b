import { derivedId } from "../lib/ids.ts";
import alarmActions from "../resources/alarms/alarm-actions.ts";
import alarmEvents from "../resources/alarms/alarm-events.ts";
import { ALARM_IDS, type AlarmStatus, type AlarmType } from "../resources/alarms/alarm-types.ts";
import alarms from "../resources/alarms/alarms.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, SqlValue, StoreReader, Transaction } from "../store/store.ts";
import { UNACKNOWLEDGED } from "./acknowledgement.ts";
import type { AlarmEventScenario } from "./alarm-event-hooks.ts";
import type { AlarmCondition, ConditionEvaluation, TrackedReason } from "./hold-off.ts";
import { isMuted } from "./mutes.ts";

export interface AlarmConditionKey {
  alarm: AlarmType;
  endpointId: string;
}

type AlarmEvent = RowOf<typeof alarmEvents>;

/**
 * Writes the result of an evaluation in the caller's transaction: active reasons, status, event and pending actions. Returns
 * the event; null if the status does not change.
 */
export function writeTransition(
  tx: Transaction,
  key: AlarmConditionKey,
  seen: ConditionEvaluation,
  now: number,
  by: ActorContext,
): AlarmEvent | null {
  const alarmId = ALARM_IDS[key.alarm];
  for (const { code } of seen.cleared) tx.run(`DELETE FROM alarm_reasons WHERE ${REASON_KEY}`, ...reasonKey(key, code));
  for (const { code, reason, scenario, firstSeen } of seen.raised) {
    tx.run(
      "INSERT OR REPLACE INTO alarm_reasons (alarm, endpoint, code, reason, scenario, since) VALUES (?, ?, ?, ?, ?, ?)",
      ...reasonKey(key, code),
      ...[reason, scenario && JSON.stringify(scenario), firstSeen],
    );
  }
  const context = { ...key, alarmId, now };
  if (!seen.newStatus) {
    // A further reason of an active alarm does not change the status, but clears the acknowledgement.
    if (seen.raised.length > 0) {
      clearAcknowledgement(tx, alarmId, by);
      queueActionsForNewReasons(tx, context, seen.raised);
    }
    return null;
  }
  const status = tx.one("SELECT 1 FROM alarm_reasons WHERE alarm = ? LIMIT 1", alarmId) ? "ACTIVE" : "OK";
  if (tx.get(alarms, alarmId)?.status !== status) tx.update(alarms, alarmId, {}, by, { status, ...UNACKNOWLEDGED });
  else if (seen.raised.length > 0) clearAcknowledgement(tx, alarmId, by);
  const about = seen.newStatus === "ACTIVE" ? seen.raised : seen.cleared;
  const event = createAlarmEvent(tx, context, seen.newStatus, about, by);
  queueAlarmActions(tx, { ...context, status: seen.newStatus, eventId: event.id, reasons: event.reasons }, event.id);
  return event;
}

/** The acknowledgement did not cover the new reason. */
function clearAcknowledgement(tx: Transaction, alarmId: string, by: ActorContext): void {
  if (tx.get(alarms, alarmId)?.acknowledgedAt != null) tx.update(alarms, alarmId, {}, by, UNACKNOWLEDGED);
}

interface AlarmContext extends AlarmConditionKey {
  alarmId: string;
  now: number;
}

function createAlarmEvent(
  tx: Transaction,
  context: AlarmContext,
  status: AlarmStatus,
  about: readonly TrackedReason[],
  by: ActorContext,
): AlarmEvent {
  const { alarmId, endpointId, now } = context;
  const endpoint = tx.one<{ name: string | null }>("SELECT name FROM endpoints WHERE id = ?", endpointId);
  const scenario = about.find((track) => track.scenario !== null)?.scenario ?? null;
  return tx.create(alarmEvents, { alarmId, status }, by, {
    createdAt: now,
    endpointId: endpoint ? endpointId : null,
    endpointName: endpoint?.name ?? null,
    reasons: about.map(({ reason }) => reason),
    scenario: scenario && JSON.stringify(scenario),
  });
}

/** Actions for ACTIVE run once more for new reasons of an active alarm. @source docs/decisions/0203-alarms-and-inputs.md, Alarms */
function queueActionsForNewReasons(tx: Transaction, context: AlarmContext, began: readonly TrackedReason[]): void {
  const last = tx.one<{ id: string }>(
    `SELECT v.id FROM alarm_events v JOIN alarms a ON a.pk = v.alarm_pk JOIN endpoints e ON e.pk = v.endpoint_pk
     WHERE a.id = ? AND e.id = ? AND v.status = 'ACTIVE' ORDER BY v.pk DESC LIMIT 1`,
    context.alarmId,
    context.endpointId,
  );
  if (!last) return;
  const reasons = began.map(({ reason }) => reason);
  const what = [last.id, ...began.map(({ code, firstSeen }) => `${code} ${firstSeen}`)].join("/");
  queueAlarmActions(tx, { ...context, status: "ACTIVE", eventId: last.id, reasons }, what);
}

/** Queues the matching actions; the derived id makes each unique, however often it is queued. */
function queueAlarmActions(
  tx: Transaction,
  given: AlarmContext & { status: AlarmStatus; eventId: string; reasons: readonly string[] },
  what: string,
): void {
  const { alarmId, status, eventId, reasons } = given;
  if (isMuted(tx, given)) return;
  for (const { id } of tx.find(alarmActions, { alarmId, triggerOnStatus: status })) {
    tx.run(
      "INSERT OR IGNORE INTO alarm_pending_actions (id, action, event, reasons) VALUES (?, ?, ?, ?)",
      ...[derivedId("alarm-firing", what, id), id, eventId, JSON.stringify(reasons)],
    );
  }
}

const REASON_KEY = "alarm = ? AND endpoint = ? AND code = ?";

function reasonKey({ alarm, endpointId }: AlarmConditionKey, code: string): SqlValue[] {
  return [ALARM_IDS[alarm], endpointId, code];
}

/** The stored conditions by alarm and appliance, as if they had just been observed. */
export function loadActiveConditions(
  reader: StoreReader,
  now: number,
): { key: AlarmConditionKey; condition: AlarmCondition }[] {
  const types = new Map(Object.entries(ALARM_IDS).map(([type, id]) => [id, type as AlarmType]));
  const found = new Map<string, { key: AlarmConditionKey; condition: Map<string, TrackedReason> }>();
  for (const line of reader.all<{
    alarm: (typeof ALARM_IDS)[AlarmType];
    endpoint: string;
    code: string;
    reason: string;
    scenario: string | null;
    since: number;
  }>("SELECT alarm, endpoint, code, reason, scenario, since FROM alarm_reasons")) {
    const alarm = types.get(line.alarm);
    if (!alarm) continue;
    const name = `${alarm} ${line.endpoint}`;
    const one = found.get(name) ?? { key: { alarm, endpointId: line.endpoint }, condition: new Map() };
    const scenario = line.scenario === null ? null : (JSON.parse(line.scenario) as AlarmEventScenario);
    const { code, reason, since } = line;
    one.condition.set(code, { code, reason, scenario, firstSeen: since, lastSeen: now, on: true });
    found.set(name, one);
  }
  return [...found.values()];
}
