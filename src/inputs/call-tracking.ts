import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import { derivedId } from "../lib/ids.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import activeCallawareCalls from "../resources/inputs/active-callaware-calls.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Sync, Transaction } from "../store/store.ts";
import type { InputRow } from "./input-row.ts";
import type { RuleAction } from "./rule-matching.ts";

export interface CallTrackingDeps {
  store: Store;
  clock: Clock;
  notificationService: Pick<NotificationService, "abort">;
  by: ActorContext;
  endpointId(): string;
}

/** A call without a reported end counts as ended after this time. @source docs/decisions/0203-alarms-and-inputs.md, Inputs */
const MAX_CALL_MS = 4 * 3_600_000;
const MAX_LISTED = 1_000;

/** Id of a call, the same for all inputs about it. */
export function callKeyOf(plugin: string, source: string, callId: string): string {
  return derivedId("call", plugin, source, callId);
}

/** True if a later input reports that the call was answered or ended. */
export function isCallOver({ pk, callKey }: InputRow, store: Store): boolean {
  const sql = "SELECT 1 FROM inputs WHERE call_key = ? AND pk > ? AND json_extract(call, '$.state') <> 'ringing'";
  return store.one(sql, callKey, pk) !== null;
}

/** Lists a call that matched rules as active until it ends. */
export async function listActiveCall(
  input: InputRow,
  effects: readonly RuleAction[],
  deps: CallTrackingDeps,
): Promise<void> {
  const { call, callKey } = input;
  if (!call?.via || !callKey || effects.length === 0) return;
  await deps.store.write((tx) => {
    if (tx.get(activeCallawareCalls, callKey)) return;
    if (tx.count(activeCallawareCalls, {}) >= MAX_LISTED) return;
    tx.create(activeCallawareCalls, {}, deps.by, {
      id: callKey,
      type: call.via === "redirect" ? "endpoint-rule" : "callaware-rule",
      startTime: input.createdAt,
      endpointId: deps.endpointId(),
      details: {
        calledNumber: call.calledNumber,
        callingNumber: call.callingNumber ?? null,
        state: call.state,
        source: input.source,
        rules: effects.map(({ rule: { id, name } }) => ({ id, name })),
      },
    });
  });
}

/** Applies a later state of a call: aborts ringing notifications once it is answered, removes it when it ends. */
export async function updateActiveCall({ call, callKey }: InputRow, deps: CallTrackingDeps): Promise<void> {
  if (!call || !callKey) return;
  await stopRinging(callKey, deps);
  await deps.store.write((tx) => {
    const listed = tx.get(activeCallawareCalls, callKey);
    if (!listed) return;
    if (call.state === "ended") return endActiveCall(tx, listed, deps, null);
    const details = { ...(listed.details as object), state: call.state };
    tx.update(activeCallawareCalls, callKey, {}, deps.by, { details });
  });
}

/** Records a notification that repeats while a call rings. */
export async function recordRingingNotification(
  callKey: string,
  notificationId: string,
  { store, clock }: CallTrackingDeps,
): Promise<void> {
  await store.write(
    (tx) =>
      void tx.run(
        "INSERT OR IGNORE INTO input_ringing_notifications (call, notification, at) VALUES (?, ?, ?)",
        ...[callKey, notificationId, clock.now()],
      ),
    "emergency",
  );
}

async function stopRinging(callKey: string, { store, notificationService, by }: CallTrackingDeps): Promise<void> {
  const rings = store.all<{ id: string }>(
    "SELECT notification AS id FROM input_ringing_notifications WHERE call = ?",
    callKey,
  );
  for (const { id } of rings) {
    try {
      await notificationService.abort(id, by);
    } catch (error) {
      // The notification has ended or was deleted.
      if (!(error instanceof CallerError || error instanceof ConflictError)) throw error;
    }
    await store.write(
      (tx) => void tx.run("DELETE FROM input_ringing_notifications WHERE call = ? AND notification = ?", callKey, id),
    );
  }
}

/** Retention: removes calls without a reported end. */
export async function expireCalls(deps: CallTrackingDeps): Promise<void> {
  const { store, clock } = deps;
  const before = clock.now() - MAX_CALL_MS;
  await store.write((tx) => {
    tx.run("DELETE FROM input_ringing_notifications WHERE at < ?", before);
    const old = tx.all<{ id: string }>("SELECT id FROM active_callaware_calls WHERE start_time < ? LIMIT 50", before);
    for (const { id } of old) {
      const listed = tx.get(activeCallawareCalls, id);
      if (listed) endActiveCall(tx, listed, deps, sentence("input.call-end-missing"));
    }
  });
}

/** Only the parties, the times and the matching rules of a call are recorded, never its content. @source docs/decisions/0203-alarms-and-inputs.md, Inputs */
function endActiveCall(
  tx: Transaction,
  { id, startTime, details, endpointId }: Sync<RowOf<typeof activeCallawareCalls>>,
  { clock, by }: CallTrackingDeps,
  failure: string | null,
): void {
  tx.remove(activeCallawareCalls, id, by);
  const times = {
    startTime: new Date(startTime ?? clock.now()).toISOString(),
    endTime: new Date(clock.now()).toISOString(),
  };
  const { state: _, ...of } = details as { state?: unknown };
  const value = failure === null ? { callId: id, ...of, ...times } : { callId: id, ...of, ...times, reason: failure };
  const how = failure === null ? { state: "success", severity: "info" } : { state: "fail", severity: "warn" };
  const parents = { extensionId: ONPREM_EXTENSION_ID, endpointId };
  tx.create(endpointActivities, { ...parents, ...how, type: "callaware-recording", value }, by);
}
