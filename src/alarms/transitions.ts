import { derivedId } from "../base/ids.ts";
import alarmActions from "../resources/alarms/alarm-actions.ts";
import alarmEvents from "../resources/alarms/alarm-events.ts";
import { ALARM_IDS, type AlarmStatus, type AlarmType } from "../resources/alarms/alarm-types.ts";
import alarms from "../resources/alarms/alarms.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Reader, SqlValue, Transaction } from "../store/store.ts";
import { UNACKNOWLEDGED } from "./acknowledgement.ts";
import type { AboutScenario } from "./event-behaviour.ts";
import type { Fault, Look, Track } from "./fault.ts";
import { isMuted } from "./mutes.ts";

/** One alarm at one appliance. */
export interface FaultKey {
  alarm: AlarmType;
  endpointId: string;
}

type AlarmEvent = RowOf<typeof alarmEvents>;

/**
 * Writes what a look brought, all in the caller's transaction: what counts now, the status, the event and the actions
 * that are to be taken. Answers the event; null when the status stays as it is.
 */
export function writeLook(tx: Transaction, key: FaultKey, seen: Look, now: number, by: By): AlarmEvent | null {
  const alarmId = ALARM_IDS[key.alarm];
  for (const { code } of seen.ended) tx.run(`DELETE FROM alarm_reasons WHERE ${REASON_KEY}`, ...reasonKey(key, code));
  for (const { code, reason, scenario, firstSeen } of seen.began) {
    tx.run(
      "INSERT OR REPLACE INTO alarm_reasons (alarm, endpoint, code, reason, scenario, since) VALUES (?, ?, ?, ?, ?, ?)",
      ...reasonKey(key, code),
      ...[reason, scenario && JSON.stringify(scenario), firstSeen],
    );
  }
  const told = { ...key, alarmId, now };
  if (!seen.entered) {
    // One more reason of an alarm that is active changes no status, yet nobody knows of it.
    if (seen.began.length > 0) {
      forgetAcknowledgement(tx, alarmId, by);
      tellMore(tx, told, seen.began);
    }
    return null;
  }
  const status = tx.one("SELECT 1 FROM alarm_reasons WHERE alarm = ? LIMIT 1", alarmId) ? "ACTIVE" : "OK";
  if (tx.get(alarms, alarmId)?.status !== status) tx.update(alarms, alarmId, {}, by, { status, ...UNACKNOWLEDGED });
  else if (seen.began.length > 0) forgetAcknowledgement(tx, alarmId, by);
  const about = seen.entered === "ACTIVE" ? seen.began : seen.ended;
  const event = writeEvent(tx, told, seen.entered, about, by);
  fire(tx, { ...told, status: seen.entered, eventId: event.id, reasons: event.reasons }, event.id);
  return event;
}

/** Who said that it is seen to did not know of this yet. */
function forgetAcknowledgement(tx: Transaction, alarmId: string, by: By): void {
  if (tx.get(alarms, alarmId)?.acknowledgedAt != null) tx.update(alarms, alarmId, {}, by, UNACKNOWLEDGED);
}

interface Told extends FaultKey {
  alarmId: string;
  now: number;
}

function writeEvent(tx: Transaction, told: Told, status: AlarmStatus, about: readonly Track[], by: By): AlarmEvent {
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
function tellMore(tx: Transaction, told: Told, began: readonly Track[]): void {
  const last = tx.one<{ id: string }>(
    `SELECT v.id FROM alarm_events v JOIN alarms a ON a.pk = v.alarm_pk JOIN endpoints e ON e.pk = v.endpoint_pk
     WHERE a.id = ? AND e.id = ? AND v.status = 'ACTIVE' ORDER BY v.pk DESC LIMIT 1`,
    told.alarmId,
    told.endpointId,
  );
  if (!last) return;
  const reasons = began.map(({ reason }) => reason);
  const what = [last.id, ...began.map(({ code, firstSeen }) => `${code} ${firstSeen}`)].join("/");
  fire(tx, { ...told, status: "ACTIVE", eventId: last.id, reasons }, what);
}

/** Puts the actions that match into the queue; the key makes each of them one, however often it is asked for. */
function fire(
  tx: Transaction,
  given: Told & { status: AlarmStatus; eventId: string; reasons: readonly string[] },
  what: string,
): void {
  const { alarmId, status, eventId, reasons } = given;
  if (isMuted(tx, given)) return;
  for (const { id } of tx.find(alarmActions, { alarmId, triggerOnStatus: status })) {
    tx.run(
      "INSERT OR IGNORE INTO alarm_firings (id, action, event, reasons) VALUES (?, ?, ?, ?)",
      ...[derivedId("alarm-firing", what, id), id, eventId, JSON.stringify(reasons)],
    );
  }
}

const REASON_KEY = "alarm = ? AND endpoint = ? AND code = ?";

function reasonKey({ alarm, endpointId }: FaultKey, code: string): SqlValue[] {
  return [ALARM_IDS[alarm], endpointId, code];
}

/** What counted when it was last written, as if it had just been seen; by alarm and appliance. */
export function readFaults(reader: Reader, now: number): { key: FaultKey; fault: Fault }[] {
  const types = new Map(Object.entries(ALARM_IDS).map(([type, id]) => [id, type as AlarmType]));
  const found = new Map<string, { key: FaultKey; fault: Map<string, Track> }>();
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
    const scenario = line.scenario === null ? null : (JSON.parse(line.scenario) as AboutScenario);
    const { code, reason, since } = line;
    one.fault.set(code, { code, reason, scenario, firstSeen: since, lastSeen: now, on: true });
    found.set(name, one);
  }
  return [...found.values()];
}
