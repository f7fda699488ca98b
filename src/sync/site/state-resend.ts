import { FULL_STATE_SENT, type SyncLimits } from "../protocol/frames.ts";
import { listProductIds, putRecord, readProductRow, type TransactionProgram } from "../storage/transaction-program.ts";
import { enqueue } from "./outbox.ts";
import type { ActivityContext } from "./sync-activities.ts";
import { readSyncState } from "./sync-state.ts";
import { SYNC_STATE } from "./tables.ts";

/** Starts a full resend of site state. */
export function* startStateResend(): TransactionProgram<void> {
  yield* putRecord(SYNC_STATE, { ...(yield* readSyncState()), stateResend: { type: "", after: null } });
}

/** Whether a resend is not finished. */
export function* isStateResendPending(): TransactionProgram<boolean> {
  return (yield* readSyncState()).stateResend !== null;
}

/** Queues the next rows of a full resend, with which the cloud replaces what an older copy lost. True when all are queued. */
export function* resendStateBatch(
  { types, newId, now }: ActivityContext,
  limits: SyncLimits,
): TransactionProgram<boolean> {
  const { stateResend } = yield* readSyncState();
  if (!stateResend) return true;
  const { siteState } = types;
  const type = siteState.find((each) => each >= stateResend.type);
  const ids = type ? yield* listProductIds(type, stateResend.after, limits.applyBatchRows) : [];
  for (const id of ids) {
    const body = yield* readProductRow(type as string, id);
    if (body)
      yield* enqueue("bulk", { uid: newId(), op: "p", type: type as string, id, body, at: now, newestOnly: true });
  }
  const next = siteState.find((each) => each > (type ?? ""));
  const isLast = ids.length < limits.applyBatchRows && (!type || !next);
  if (isLast)
    yield* enqueue("bulk", { uid: newId(), op: "p", type: FULL_STATE_SENT, id: FULL_STATE_SENT, body: null, at: now });
  const onwards =
    ids.length < limits.applyBatchRows
      ? { type: next ?? "", after: null }
      : { type: type ?? "", after: ids.at(-1) ?? null };
  yield* putRecord(SYNC_STATE, { ...(yield* readSyncState()), stateResend: isLast ? null : onwards });
  return isLast;
}
