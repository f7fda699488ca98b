import { ConflictError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import alarms from "../resources/alarms/alarms.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Transaction } from "../store/store.ts";

type Alarm = RowOf<typeof alarms>;

/** Fields of an alarm without an acknowledgement. */
export const UNACKNOWLEDGED = { acknowledgedAt: null, acknowledgedBy: null, acknowledgementNote: null } as const;

/**
 * Acknowledges an alarm, replacing an earlier acknowledgement; the audit log keeps all of them. It changes neither the status
 * nor the notifications; the next change of status clears it. Throws ConflictError while the alarm is OK.
 * @source docs/decisions/0203-alarms-and-inputs.md, Alarms
 */
export function acknowledgeAlarm(
  tx: Transaction,
  alarmId: string,
  note: string | null,
  at: number,
  by: ActorContext,
): Alarm {
  if (tx.get(alarms, alarmId)?.status !== "ACTIVE")
    throw new ConflictError(sentence("conflict.only-an-active-alarm-can-be-acknowledged"));
  const said = { acknowledgedAt: at, acknowledgedBy: by.actor.name, acknowledgementNote: note };
  return tx.update(alarms, alarmId, {}, by, said);
}
