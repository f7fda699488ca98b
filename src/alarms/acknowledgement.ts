import { ConflictError } from "../lib/errors.ts";
import alarms from "../resources/alarms/alarms.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Transaction } from "../store/store.ts";

type Alarm = RowOf<typeof alarms>;

/** What an alarm is that nobody has acknowledged. */
export const UNACKNOWLEDGED = { acknowledgedAt: null, acknowledgedBy: null, acknowledgementNote: null } as const;

/**
 * Keeps that somebody sees to an alarm, in place of who did before; the audit keeps all. It changes neither status nor
 * messages: those come of changes alone, and a change ends it. Throws ConflictError while the alarm is OK. own choice
 */
export function acknowledgeAlarm(
  tx: Transaction,
  alarmId: string,
  note: string | null,
  at: number,
  by: ActorContext,
): Alarm {
  if (tx.get(alarms, alarmId)?.status !== "ACTIVE") throw new ConflictError("The alarm is not active.");
  const said = { acknowledgedAt: at, acknowledgedBy: by.actor.name, acknowledgementNote: note };
  return tx.update(alarms, alarmId, {}, by, said);
}
