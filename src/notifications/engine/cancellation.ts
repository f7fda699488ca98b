import type { Timer } from "../../lib/clock.ts";
import { ConflictError, notFound } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import notificationActivities from "../../resources/notifications/notification-activities.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { ActorContext, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { endTracking } from "../responses/tracking.ts";
import type { ActiveBroadcastRegistry } from "./active-broadcast-registry.ts";
import { type ActivityDetails, type ActivityRow, addActivity } from "./activity-log.ts";
import { cancellationReason } from "./cancellation-state.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";
import { stopDeliveries } from "./stop-deliveries.ts";

/** Ends messages early: by a user, or by expiry. */
export interface CancellationService {
  abort(notificationId: string, by: ActorContext, details?: ActivityDetails): Promise<ActivityRow>;
  expire(notificationId: string, by: ActorContext, details?: ActivityDetails): Promise<ActivityRow>;
  /**
   * Expires what is due, also what became due while the appliance was down, and schedules the next; call it again after
   * accepting a message.
   */
  watch(): void;
  stop(): void;
}

export type CancellationDeps = Pick<
  PipelineStageDeps,
  "store" | "clock" | "log" | "providers" | "by" | "endpointId"
> & {
  activeBroadcasts: ActiveBroadcastRegistry;
};

const ACTIVITY = { aborted: "abort", expired: "expire" } as const;
/** Maximum of a timer: 24 days. */
const MAX_TIMER_MS = 86_400_000;
/** How long after its time a message still expires when the appliance was down. */
const MAX_OVERDUE_MS = 7 * 86_400_000;
/** A full disk may have space again later. */
const RETRY_MS = 5_000;

/** Sent here, or carried out here for the cloud: a message sent elsewhere expires there, and its end is reported. */
const SENT_HERE_SQL = `(n.initiating_endpoint_pk IS NULL OR n.initiation_source_type = 'cloud'
  OR n.initiating_endpoint_pk = (SELECT pk FROM endpoints WHERE id = ?))`;

/** Creates the service; nothing expires before `watch`. */
export function createCancellationService(deps: CancellationDeps): CancellationService {
  const { store, clock, activeBroadcasts } = deps;
  let timer: Timer | null = null;
  let stopped = false;
  const expiring = new Set<string>();
  /** Everything due up to here has been handled; epoch ms. */
  let handledUpTo = clock.now() - MAX_OVERDUE_MS;

  const cancel = async (
    notificationId: string,
    reason: "aborted" | "expired",
    by: ActorContext,
    details: ActivityDetails = {},
  ): Promise<ActivityRow> => {
    const { activity, fresh } = await store.write(
      (tx) => cancelRow(tx, notificationId, { reason, details }, by),
      "emergency",
    );
    if (fresh) stopDevices(notificationId, reason);
    return activity;
  };

  const cancelRow = (
    tx: Transaction,
    notificationId: string,
    { reason, details: given }: { reason: "aborted" | "expired"; details: ActivityDetails },
    by: ActorContext,
  ) => {
    const row = tx.get(notifications, notificationId, by.scope);
    if (!row) throw notFound();
    if (row.draft) throw new ConflictError(sentence("error.a-preview-was-not-sent-and-cannot-be-ended"));
    const earlier = findEndActivity(tx, notificationId);
    if (earlier) return { activity: earlier, fresh: false };
    const now = clock.now();
    const was = cancellationReason(row, now) ?? reason;
    const change = was === "aborted" ? { abortedAt: now } : { expiresAt: Math.min(row.expiresAt ?? now, now) };
    const unsent = row.approval === "waiting" ? rejectedChange(row, was, by, now) : null;
    tx.update(notifications, notificationId, {}, by, { ...change, ...unsent?.change });
    endTracking(tx, row, was === "aborted" ? "tracking-terminated" : "tracking-completed", now, by);
    const details = { ...given, ...(unsent && { message: unsent.message }) };
    const values = {
      ...{ notificationId, type: ACTIVITY[was], userId: by.actor.userId, endpointId: deps.endpointId() },
      ...(Object.keys(details).length > 0 && { details }),
    };
    tx.emit("notification.stopped", { notificationId, reason: was });
    return { activity: addActivity(tx, values, by), fresh: true };
  };

  /** Ends audio and clears displays, also of deliveries that had ended. */
  const stopDevices = (notificationId: string, reason: "aborted" | "expired"): void => {
    const live = activeBroadcasts.find(notificationId);
    live?.halt(reason);
    const activeKeys = new Set([...(live?.deliveries ?? [])].map(({ pk }) => pk));
    const rows = store.all<{ pk: number; provider: string }>(
      `SELECT l.pk, l.provider FROM notifications n JOIN deliveries l ON l.notification_pk = n.pk
       WHERE n.id = ? AND l.accepted_at IS NOT NULL AND l.provider IS NOT NULL`,
      notificationId,
    );
    stopDeliveries(
      deps.providers,
      rows.filter(({ pk }) => !activeKeys.has(pk)),
      reason,
    );
  };

  const watch = (): void => {
    timer?.cancel();
    timer = null;
    if (stopped) return;
    const now = clock.now();
    const due = findExpired(handledUpTo, now);
    handledUpTo = now;
    for (const { id, at } of due) void expireOne(id, at);
    const next = store.one<{ at: number | null }>(
      "SELECT min(expires_at) AS at FROM notifications WHERE expires_at > ?",
      now,
    );
    const delayMs = next?.at ? Math.min(next.at - now, MAX_TIMER_MS) : null;
    if (delayMs !== null) timer = clock.after(delayMs, watch, { background: true });
  };

  const findExpired = (from: number, to: number): { id: string; at: number }[] =>
    store.all<{ id: string; at: number }>(
      `SELECT n.id, n.expires_at AS at FROM notifications n
       WHERE n.expires_at >= ? AND n.expires_at <= ? AND n.aborted_at IS NULL AND n.draft = 0 AND ${SENT_HERE_SQL}
         AND NOT EXISTS (SELECT 1 FROM notification_activities a WHERE a.notification_pk = n.pk AND a.type = 'expire')`,
      from,
      to,
      deps.endpointId(),
    );

  const expireOne = async (notificationId: string, at: number): Promise<void> => {
    if (expiring.has(notificationId)) return;
    expiring.add(notificationId);
    try {
      await cancel(notificationId, "expired", deps.by);
    } catch (error) {
      deps.log.error(
        { event: "notification.expiry_failed", err: error, notificationId },
        "Notification could not be expired; retrying.",
      );
      handledUpTo = Math.min(handledUpTo, at);
      if (!stopped) clock.after(RETRY_MS, watch, { background: true });
    } finally {
      expiring.delete(notificationId);
    }
  };

  return {
    abort: (notificationId, by, details) => cancel(notificationId, "aborted", by, details),
    expire: (notificationId, by, details) => cancel(notificationId, "expired", by, details),
    watch,
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}

/** The change of a message that was not approved. */
function rejectedChange(row: NotificationRow, was: "aborted" | "expired", { actor }: ActorContext, now: number) {
  const over = { stage: "settled", stageAt: now, settledAt: now } as const;
  if (was === "expired") {
    const message = sentence("activity.not-approved");
    return { change: { ...over, approval: "expired" } as const, message };
  }
  const isInitiator = actor.userId === row.initiatorId;
  const message = isInitiator ? sentence("activity.withdrawn") : sentence("activity.refused", { name: actor.name });
  return { change: { ...over, approval: "refused", approverId: actor.userId } as const, message };
}

function findEndActivity(tx: Transaction, notificationId: string): ActivityRow | undefined {
  return (
    tx.find(notificationActivities, { notificationId, type: "abort" }, 1)[0] ??
    tx.find(notificationActivities, { notificationId, type: "expire" }, 1)[0]
  );
}
