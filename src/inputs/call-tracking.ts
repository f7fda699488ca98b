import type { Clock } from "../lib/clock.ts";
import { CallerError, ConflictError } from "../lib/errors.ts";
import { derivedId } from "../lib/ids.ts";
import type { NotificationService } from "../notifications/notification-service.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/on-premises-extension.ts";
import activeCallawareCalls from "../resources/inputs/active-callaware-calls.ts";
import type { RowOf } from "../schema/resource.ts";
import type { ActorContext, Store, Sync, Transaction } from "../store/store.ts";
import type { InputRow } from "./input-row.ts";
import type { RuleAction } from "./rule-matching.ts";

/** What following calls needs. */
export interface CallTrackingDeps {
  store: Store;
  clock: Clock;
  notificationService: Pick<NotificationService, "abort">;
  by: ActorContext;
  endpointId(): string;
}

/** A call whose end nobody told is taken for ended. own choice */
const MAX_CALL_MS = 4 * 3_600_000;
const MAX_LISTED = 1_000;

/** The id of a call, the same for all inputs about it. */
export function callKeyOf(plugin: string, source: string, callId: string): string {
  return derivedId("call", plugin, source, callId);
}

/** True when a later input says that the call was answered or is over. */
export function isCallOver({ pk, callKey }: InputRow, store: Store): boolean {
  const sql = "SELECT 1 FROM inputs WHERE call_key = ? AND pk > ? AND json_extract(call, '$.state') <> 'ringing'";
  return store.one(sql, callKey, pk) !== null;
}

/** Lists a call that matched rules, until it ends. */
export async function listActiveCall(
  input: InputRow,
  effects: readonly RuleAction[],
  needs: CallTrackingDeps,
): Promise<void> {
  const { call, callKey } = input;
  if (!call?.via || !callKey || effects.length === 0) return;
  await needs.store.write((tx) => {
    if (tx.get(activeCallawareCalls, callKey)) return;
    if (tx.count(activeCallawareCalls, {}) >= MAX_LISTED) return;
    tx.create(activeCallawareCalls, {}, needs.by, {
      id: callKey,
      type: call.via === "redirect" ? "endpoint-rule" : "callaware-rule",
      startTime: input.createdAt,
      endpointId: needs.endpointId(),
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

/** Takes a later step of a call: it falls silent once it is answered, and is listed until it ends. */
export async function updateActiveCall({ call, callKey }: InputRow, needs: CallTrackingDeps): Promise<void> {
  if (!call || !callKey) return;
  await stopRinging(callKey, needs);
  await needs.store.write((tx) => {
    const listed = tx.get(activeCallawareCalls, callKey);
    if (!listed) return;
    if (call.state === "ended") return endActiveCall(tx, listed, needs, null);
    const details = { ...(listed.details as object), state: call.state };
    tx.update(activeCallawareCalls, callKey, {}, needs.by, { details });
  });
}

/** Remembers a message that rings for a call. */
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
      // It ended by itself, or somebody deleted it.
      if (!(error instanceof CallerError || error instanceof ConflictError)) throw error;
    }
    await store.write(
      (tx) => void tx.run("DELETE FROM input_ringing_notifications WHERE call = ? AND notification = ?", callKey, id),
    );
  }
}

/** Forgets calls whose end was not told. */
export async function expireCalls(needs: CallTrackingDeps): Promise<void> {
  const { store, clock } = needs;
  const before = clock.now() - MAX_CALL_MS;
  await store.write((tx) => {
    tx.run("DELETE FROM input_ringing_notifications WHERE at < ?", before);
    const old = tx.all<{ id: string }>("SELECT id FROM active_callaware_calls WHERE start_time < ? LIMIT 50", before);
    for (const { id } of old) {
      const listed = tx.get(activeCallawareCalls, id);
      if (listed) endActiveCall(tx, listed, needs, "Nobody told when the call ended.");
    }
  });
}

/** own choice: what is recorded of a call is who called whom, when, and by which rules it was followed; nothing that was said */
function endActiveCall(
  tx: Transaction,
  { id, startTime, details, endpointId }: Sync<RowOf<typeof activeCallawareCalls>>,
  { clock, by }: CallTrackingDeps,
  fault: string | null,
): void {
  tx.remove(activeCallawareCalls, id, by);
  const times = {
    startTime: new Date(startTime ?? clock.now()).toISOString(),
    endTime: new Date(clock.now()).toISOString(),
  };
  const { state: _, ...of } = details as { state?: unknown };
  const value = fault === null ? { callId: id, ...of, ...times } : { callId: id, ...of, ...times, reason: fault };
  const how = fault === null ? { state: "success", severity: "info" } : { state: "fail", severity: "warn" };
  const parents = { extensionId: ONPREM_EXTENSION_ID, endpointId };
  tx.create(endpointActivities, { ...parents, ...how, type: "callaware-recording", value }, by);
}
