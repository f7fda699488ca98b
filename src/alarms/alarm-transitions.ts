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

/** One alarm at one appliance. */
export interface AlarmConditionKey {
  alarm: AlarmType;
  endpointId: string;
}

type AlarmEvent = RowOf<typeof alarmEvents>;

/**
 * Writes what a look brought, all in the caller's transaction: what counts now, the status, the event and the actions
 * that are to be taken. Answers the event; null when the status stays as it is.
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
  const told = { ...key, alarmId, now };
  if (!seen.newStatus) {
    // One more reason of an alarm that is active changes no status, yet nobody knows of it.
    if (seen.raised.length > 0) {
      clearAcknowledgement(tx, alarmId, by);
      queueActionsForNewReasons(tx, told, seen.raised);
    }
    return null;
  }
  const status = tx.one("SELECT 1 FROM alarm_reasons WHERE alarm = ? LIMIT 1", alarmId) ? "ACTIVE" : "OK";
  if (tx.get(alarms, alarmId)?.status !== status) tx.update(alarms, alarmId, {}, by, { status, ...UNACKNOWLEDGED });
  else if (seen.raised.length > 0) clearAcknowledgement(tx, alarmId, by);
  const about = seen.newStatus === "ACTIVE" ? seen.raised : seen.cleared;
  const event = createAlarmEvent(tx, told, seen.newStatus, about, by);
  queueAlarmActions(tx, { ...told, status: seen.newStatus, eventId: event.id, reasons: event.reasons }, event.id);
  return event;
}

/** Who said that it is seen to did not know of this yet. */
function clearAcknowledgement(tx: Transaction, alarmId: string, by: ActorContext): void {
  if (tx.get(alarms, alarmId)?.acknowledgedAt != null) tx.update(alarms, alarmId, {}, by, UNACKNOWLEDGED);
}

interface AlarmContext extends AlarmConditionKey {
  alarmId: string;
  now: number;
}

function createAlarmEvent(
  tx: Transaction,
  told: AlarmContext,
  status: AlarmStatus,
  about: readonly TrackedReason[],
  by: ActorContext,
): AlarmEvent {
  const { alarmId, endpointId, now } = told;
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

/** own choice: actions for ACTIVE are taken once more, for the reasons that came. */
function queueActionsForNewReasons(tx: Transaction, told: AlarmContext, began: readonly TrackedReason[]): void {
  const last = tx.one<{ id: string }>(
    `SELECT v.id FROM alarm_events v JOIN alarms a ON a.pk = v.alarm_pk JOIN endpoints e ON e.pk = v.endpoint_pk
     WHERE a.id = ? AND e.id = ? AND v.status = 'ACTIVE' ORDER BY v.pk DESC LIMIT 1`,
    told.alarmId,
    told.endpointId,
  );
  if (!last) return;
  const reasons = began.map(({ reason }) => reason);
  const what = [last.id, ...began.map(({ code, firstSeen }) => `${code} ${firstSeen}`)].join("/");
  queueAlarmActions(tx, { ...told, status: "ACTIVE", eventId: last.id, reasons }, what);
}

/** Puts the actions that match into the queue; the key makes each of them one, however often it is asked for. */
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

/** What counted when it was last written, as if it had just been seen; by alarm and appliance. */
export function loadActiveConditions(
  reader: StoreReader,
  now: number,
): { key: AlarmConditionKey; fault: AlarmCondition }[] {
  const types = new Map(Object.entries(ALARM_IDS).map(([type, id]) => [id, type as AlarmType]));
  const found = new Map<string, { key: AlarmConditionKey; fault: Map<string, TrackedReason> }>();
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
    const one = found.get(name) ?? { key: { alarm, endpointId: line.endpoint }, fault: new Map() };
    const scenario = line.scenario === null ? null : (JSON.parse(line.scenario) as AlarmEventScenario);
    const { code, reason, since } = line;
    one.fault.set(code, { code, reason, scenario, firstSeen: since, lastSeen: now, on: true });
    found.set(name, one);
  }
  return [...found.values()];
}
