import type { Clock } from "../base/clock.ts";
import { CallerError, ConflictError } from "../base/errors.ts";
import { derivedId } from "../base/ids.ts";
import type { Broadcaster } from "../broadcast/broadcaster.ts";
import endpointActivities from "../resources/devices/endpoint-activities.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import activeCallawareCalls from "../resources/inputs/active-callaware-calls.ts";
import type { RowOf } from "../schema/resource.ts";
import type { By, Store, Sync, Transaction } from "../store/store.ts";
import type { Effect } from "./rules.ts";
import type { InputRow } from "./steps.ts";

/** What following calls needs. */
export interface CallNeeds {
  store: Store;
  clock: Clock;
  broadcaster: Pick<Broadcaster, "abort">;
  by: By;
  endpointId(): string;
}

/** A call whose end nobody told is taken for ended. own choice */
const LONGEST_CALL_MS = 4 * 3_600_000;
const MOST_LISTED = 1_000;

/** The id of a call, the same for all inputs about it. */
export function callKeyOf(plugin: string, source: string, callId: string): string {
  return derivedId("call", plugin, source, callId);
}

/** True when a later input says that the call was answered or is over. */
export function isOver({ pk, callKey }: InputRow, store: Store): boolean {
  const sql = "SELECT 1 FROM inputs WHERE call_key = ? AND pk > ? AND json_extract(call, '$.state') <> 'ringing'";
  return store.one(sql, callKey, pk) !== null;
}

/** Lists a call that matched rules, until it ends. */
export async function listCall(input: InputRow, effects: readonly Effect[], needs: CallNeeds): Promise<void> {
  const { call, callKey } = input;
  if (!call?.via || !callKey || effects.length === 0) return;
  await needs.store.write((tx) => {
    if (tx.get(activeCallawareCalls, callKey)) return;
    if (tx.count(activeCallawareCalls, {}) >= MOST_LISTED) return;
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
export async function followCall({ call, callKey }: InputRow, needs: CallNeeds): Promise<void> {
  if (!call || !callKey) return;
  await silence(callKey, needs);
  await needs.store.write((tx) => {
    const listed = tx.get(activeCallawareCalls, callKey);
    if (!listed) return;
    if (call.state === "ended") return endListed(tx, listed, needs, null);
    const details = { ...(listed.details as object), state: call.state };
    tx.update(activeCallawareCalls, callKey, {}, needs.by, { details });
  });
}

/** Remembers a message that rings for a call. */
export async function rememberRing(
  callKey: string,
  notificationId: string,
  { store, clock }: CallNeeds,
): Promise<void> {
  await store.write(
    (tx) =>
      void tx.run(
        "INSERT OR IGNORE INTO input_rings (call, notification, at) VALUES (?, ?, ?)",
        ...[callKey, notificationId, clock.now()],
      ),
    "emergency",
  );
}

async function silence(callKey: string, { store, broadcaster, by }: CallNeeds): Promise<void> {
  const rings = store.all<{ id: string }>("SELECT notification AS id FROM input_rings WHERE call = ?", callKey);
  for (const { id } of rings) {
    try {
      await broadcaster.abort(id, by);
    } catch (error) {
      // It ended by itself, or somebody deleted it.
      if (!(error instanceof CallerError || error instanceof ConflictError)) throw error;
    }
    await store.write((tx) => void tx.run("DELETE FROM input_rings WHERE call = ? AND notification = ?", callKey, id));
  }
}

/** Forgets calls whose end was not told. */
export async function forgetCalls(needs: CallNeeds): Promise<void> {
  const { store, clock } = needs;
  const before = clock.now() - LONGEST_CALL_MS;
  await store.write((tx) => {
    tx.run("DELETE FROM input_rings WHERE at < ?", before);
    const old = tx.all<{ id: string }>("SELECT id FROM active_callaware_calls WHERE start_time < ? LIMIT 50", before);
    for (const { id } of old) {
      const listed = tx.get(activeCallawareCalls, id);
      if (listed) endListed(tx, listed, needs, "Nobody told when the call ended.");
    }
  });
}

/** own choice: what is recorded of a call is who called whom, when, and by which rules it was followed; nothing that was said */
function endListed(
  tx: Transaction,
  { id, startTime, details, endpointId }: Sync<RowOf<typeof activeCallawareCalls>>,
  { clock, by }: CallNeeds,
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
