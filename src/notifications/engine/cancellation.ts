import type { Timer } from "../../lib/clock.ts";
import { ConflictError, notFound } from "../../lib/errors.ts";
import notificationActivities from "../../resources/notifications/notification-activities.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { ActorContext, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { endTracking } from "../responses/tracking.ts";
import type { ActiveBroadcastRegistry } from "./active-broadcast-registry.ts";
import { type ActivityRow, addActivity } from "./activity-log.ts";
import { cancellationReason } from "./cancellation-state.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";
import { stopDeliveries } from "./stop-deliveries.ts";

/** How messages end before their time: by somebody, or by their own clock. */
export interface CancellationService {
  abort(notificationId: string, by: ActorContext): Promise<ActivityRow>;
  expire(notificationId: string, by: ActorContext): Promise<ActivityRow>;
  /** Expires what is due, also what became due while nothing ran, and waits for the next; again whenever one was accepted. */
  watch(): void;
  stop(): void;
}

/** What endings need. */
export type CancellationDeps = Pick<
  PipelineStageDeps,
  "store" | "clock" | "log" | "providers" | "by" | "endpointId"
> & {
  activeBroadcasts: ActiveBroadcastRegistry;
};

const ACTIVITY = { aborted: "abort", expired: "expire" } as const;
/** Timers can't count further than 24 days. */
const LONGEST_TIMER_MS = 86_400_000;
/** How long after its time a message still expires when nothing ran then. own choice */
const LOOK_BACK_MS = 7 * 86_400_000;
/** A disk that is full now may take the row later. */
const TRY_AGAIN_MS = 5_000;

/** Sent here, or carried out here for the cloud: what was sent elsewhere expires there, and is told. */
const SENT_HERE_SQL = `(n.initiating_endpoint_pk IS NULL OR n.initiation_source_type = 'cloud'
  OR n.initiating_endpoint_pk = (SELECT pk FROM endpoints WHERE id = ?))`;

/** Makes the endings; nothing expires by itself before `watch`. */
export function createCancellationService(needs: CancellationDeps): CancellationService {
  const { store, clock, activeBroadcasts } = needs;
  let timer: Timer | null = null;
  let stopped = false;
  const expiring = new Set<string>();
  /** Everything due up to here has been looked at; epoch ms. */
  let lookedUpTo = clock.now() - LOOK_BACK_MS;

  const cancel = async (
    notificationId: string,
    reason: "aborted" | "expired",
    by: ActorContext,
  ): Promise<ActivityRow> => {
    const { activity, fresh } = await store.write((tx) => cancelRow(tx, notificationId, reason, by), "emergency");
    if (fresh) stopDevices(notificationId, reason);
    return activity;
  };

  const cancelRow = (tx: Transaction, notificationId: string, reason: "aborted" | "expired", by: ActorContext) => {
    const row = tx.get(notifications, notificationId, by.scope);
    if (!row) throw notFound();
    if (row.draft) throw new ConflictError("A preview was not sent and can't be ended.");
    const earlier = findEndActivity(tx, notificationId);
    if (earlier) return { activity: earlier, fresh: false };
    const now = clock.now();
    const was = cancellationReason(row, now) ?? reason;
    const change = was === "aborted" ? { abortedAt: now } : { expiresAt: Math.min(row.expiresAt ?? now, now) };
    const unsent = row.approval === "waiting" ? rejectedChange(row, was, by, now) : null;
    tx.update(notifications, notificationId, {}, by, { ...change, ...unsent?.change });
    endTracking(tx, row, was === "aborted" ? "tracking-terminated" : "tracking-completed", now, by);
    const values = {
      ...{ notificationId, type: ACTIVITY[was], userId: by.actor.userId, endpointId: needs.endpointId() },
      ...(unsent && { details: { message: unsent.message } }),
    };
    tx.emit("notification.stopped", { notificationId, reason: was });
    return { activity: addActivity(tx, values, by), fresh: true };
  };

  /** Sound ends, and displays are cleared, also those whose delivery had ended. */
  const stopDevices = (notificationId: string, reason: "aborted" | "expired"): void => {
    const live = activeBroadcasts.find(notificationId);
    live?.halt(reason);
    const told = new Set([...(live?.deliveries ?? [])].map(({ pk }) => pk));
    const rows = store.all<{ pk: number; provider: string }>(
      `SELECT l.pk, l.provider FROM notifications n JOIN deliveries l ON l.notification_pk = n.pk
       WHERE n.id = ? AND l.accepted_at IS NOT NULL AND l.provider IS NOT NULL`,
      notificationId,
    );
    stopDeliveries(
      needs.providers,
      rows.filter(({ pk }) => !told.has(pk)),
      reason,
    );
  };

  const watch = (): void => {
    timer?.cancel();
    timer = null;
    if (stopped) return;
    const now = clock.now();
    const due = findExpired(lookedUpTo, now);
    lookedUpTo = now;
    for (const { id, at } of due) void expireOne(id, at);
    const next = store.one<{ at: number | null }>(
      "SELECT min(expires_at) AS at FROM notifications WHERE expires_at > ?",
      now,
    );
    const delayMs = next?.at ? Math.min(next.at - now, LONGEST_TIMER_MS) : null;
    if (delayMs !== null) timer = clock.after(delayMs, watch, { background: true });
  };

  const findExpired = (from: number, to: number): { id: string; at: number }[] =>
    store.all<{ id: string; at: number }>(
      `SELECT n.id, n.expires_at AS at FROM notifications n
       WHERE n.expires_at >= ? AND n.expires_at <= ? AND n.aborted_at IS NULL AND n.draft = 0 AND ${SENT_HERE_SQL}
         AND NOT EXISTS (SELECT 1 FROM notification_activities a WHERE a.notification_pk = n.pk AND a.type = 'expire')`,
      from,
      to,
      needs.endpointId(),
    );

  const expireOne = async (notificationId: string, at: number): Promise<void> => {
    if (expiring.has(notificationId)) return;
    expiring.add(notificationId);
    try {
      await cancel(notificationId, "expired", needs.by);
    } catch (error) {
      needs.log.error({ err: error, notificationId }, "notification not expired");
      lookedUpTo = Math.min(lookedUpTo, at);
      if (!stopped) clock.after(TRY_AGAIN_MS, watch, { background: true });
    } finally {
      expiring.delete(notificationId);
    }
  };

  return {
    abort: (notificationId, by) => cancel(notificationId, "aborted", by),
    expire: (notificationId, by) => cancel(notificationId, "expired", by),
    watch,
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}

/** A message that another person did not let go out. */
function rejectedChange(row: NotificationRow, was: "aborted" | "expired", { actor }: ActorContext, now: number) {
  const over = { stage: "settled", stageAt: now, settledAt: now } as const;
  if (was === "expired") {
    const message = "Nobody else approved it in time: it was not sent.";
    return { change: { ...over, approval: "expired" } as const, message };
  }
  const isOwn = actor.userId === row.initiatorId;
  const message = isOwn ? "It was withdrawn: it was not sent." : `${actor.name} refused it: it was not sent.`;
  return { change: { ...over, approval: "refused", approverId: actor.userId } as const, message };
}

function findEndActivity(tx: Transaction, notificationId: string): ActivityRow | undefined {
  return (
    tx.find(notificationActivities, { notificationId, type: "abort" }, 1)[0] ??
    tx.find(notificationActivities, { notificationId, type: "expire" }, 1)[0]
  );
}
