import { CallerError } from "../../lib/errors.ts";
import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/on-premises-extension.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { ActorContext, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { parseSendingProfile, QUEUED_FAILURE, QUEUED_FAILURE_GROUP } from "../compose/sending-profile.ts";
import type { NotificationContext, OutgoingNotification } from "../notification-service.ts";
import {
  completeTimer,
  type NotificationTimer,
  postponeTimer,
  recordTimerDecision,
  scheduleTimer,
  type TimerHandler,
} from "../responses/timers.ts";
import type { ActiveBroadcastRegistry } from "./active-broadcast-registry.ts";
import { addActivity } from "./activity-log.ts";
import type { PipelineStageDeps } from "./pipeline-stage.ts";

/** `send` stores messages in one transaction and carries them out. */
export type QueueLimitDeps = Pick<PipelineStageDeps, "store" | "clock" | "by" | "endpointId" | "laneOf"> & {
  activeBroadcasts: Pick<ActiveBroadcastRegistry, "find">;
  send(
    messages: readonly OutgoingNotification[],
    by: ActorContext,
    createContext: (tx: Transaction) => NotificationContext,
  ): Promise<unknown>;
};

/** Waiting ends this long before the deadline when a group is to be notified. */
const NOTICE_LEAD_MS = 1_000;
/** A message that is not active yet is checked again after this time. */
const RECHECK_MS = 1_000;

/**
 * Schedules the end of waiting for devices, in the transaction that has them asked. An emergency waits until its
 * deadline, so that no limit ends it while its channel has yet to get to a device.
 */
export function scheduleQueueLimit(tx: Transaction, row: NotificationRow): void {
  // A bell waits for its time and no longer, whatever its settings say.
  if (row.notificationSource === "bell-schedule") return;
  const { limitMs, groupId } = parseSendingProfile(row).queue;
  if (limitMs === null && groupId === null) return;
  const from = queuedSince(row);
  const limit = from + ((row.priorityLevel === 0 ? null : limitMs) ?? Number.POSITIVE_INFINITY);
  const useless = (row.notAfter ?? Number.POSITIVE_INFINITY) - NOTICE_LEAD_MS;
  scheduleTimer(tx, row, { kind: "queue-limit", ref: String(from), at: Math.min(limit, useless) });
}

/** Epoch ms since when the newest attempt of a message waits. */
function queuedSince({ createdAt, stageAt, heldUntil, retriedAt }: NotificationRow): number {
  return Math.max(createdAt, stageAt ?? 0, heldUntil ?? 0, retriedAt ?? 0);
}

/**
 * Ends waiting deliveries when a message has waited too long, and notifies a group exactly once, also across a crash
 * between the two. The notice is not an emergency, has the default profile, and its own waiting is not reported.
 */
export function createQueueLimitHandler(deps: QueueLimitDeps): TimerHandler {
  const { store, clock, laneOf } = deps;
  return async (due) => {
    const row = store.get(notifications, due.notificationId);
    if (!row) return;
    const lane = laneOf(row.priorityLevel ?? 5);
    const live = deps.activeBroadcasts.find(row.id);
    if (!live && due.decided === null && row.stage !== "settled") {
      await store.write((tx) => postponeTimer(tx, due, clock.now() + RECHECK_MS), lane);
      return;
    }
    const seconds = Math.round((due.at - Number(due.ref)) / 1_000);
    const found = due.decided === null ? (live?.abandonWaiting(timeoutReason(seconds)) ?? 0) : Number(due.decided);
    const tells = await store.write((tx) => recordDecision(tx, row, due, { devices: found, seconds }, deps), lane);
    if (!tells) return;
    try {
      await sendNotice(row, due, { devices: found, seconds }, deps);
    } catch (error) {
      if (!(error instanceof CallerError)) throw error;
      const message = sentence("activity.queue-notice-failed", { reason: error.message });
      await store.write((tx) => completeTimer(tx, due) && logActivity(tx, row, { message }, deps), lane);
    }
  };
}

interface QueueTimeout {
  /** Devices that were not asked. */
  devices: number;
  seconds: number;
}

function timeoutReason(seconds: number): Sentence {
  return sentence("delivery.busy-too-long", { seconds });
}

/** True when a group is to be notified. */
function recordDecision(
  tx: Transaction,
  row: NotificationRow,
  due: NotificationTimer,
  waited: QueueTimeout,
  deps: QueueLimitDeps,
): boolean {
  if (due.decided !== null) return true;
  const { devices, seconds } = waited;
  const tells = devices > 0 && parseSendingProfile(row).queue.groupId !== null;
  if (tells) recordTimerDecision(tx, due, String(devices));
  else completeTimer(tx, due);
  if (devices > 0) {
    const message = sentence("activity.stopped-waiting", { count: devices, seconds });
    logActivity(tx, row, { message, ...waited }, deps);
  }
  return tells;
}

async function sendNotice(
  row: NotificationRow,
  due: NotificationTimer,
  waited: QueueTimeout,
  deps: QueueLimitDeps,
): Promise<void> {
  const { groupId, text } = parseSendingProfile(row).queue;
  const { devices, seconds } = waited;
  const subject = row.subject ?? "";
  const usual = sentence("message.waited-too-long", { subject, seconds, count: devices });
  const input = {
    subject: sentence("message.not-sent-everywhere", { subject }),
    body: text ?? usual,
    drill: row.drill,
    customVars: { subject, ...waited },
    deviceGroupIds: [groupId],
    extensionSettingsOverrides: { [ONPREM_EXTENSION_ID]: { [QUEUED_FAILURE_GROUP]: null } },
  };
  const by = { ...deps.by, scope: { ...deps.by.scope, domainId: row.domainId } };
  const options = { source: row.notificationSource ?? "unknown-source", overrules: true } as const;
  await deps.send([{ input, options }], by, (tx) => {
    if (!completeTimer(tx, due)) throw new CallerError("conflict", sentence("error.the-message-was-sent-already"));
    return { parentNotificationId: row.id, incidentId: row.incidentId, initiationSourceType: QUEUED_FAILURE };
  });
}

function logActivity(
  tx: Transaction,
  { id: notificationId }: NotificationRow,
  details: Record<string, unknown>,
  { by, endpointId }: QueueLimitDeps,
): void {
  addActivity(tx, { notificationId, type: "info", endpointId: endpointId(), details }, by);
}
