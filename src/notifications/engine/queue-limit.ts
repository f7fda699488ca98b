import { CallerError } from "../../lib/errors.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/on-premises-extension.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { ActorContext, Transaction } from "../../store/store.ts";
import type { NotificationRow } from "../compose/message-builder.ts";
import { parseSendingProfile, QUEUED_FAILURE_GROUP } from "../compose/sending-profile.ts";
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

/** What giving up needs; `send` stores messages in one transaction and carries them out. */
export type QueueLimitDeps = Pick<PipelineStageDeps, "store" | "clock" | "by" | "endpointId" | "laneOf"> & {
  activeBroadcasts: Pick<ActiveBroadcastRegistry, "find">;
  send(
    messages: readonly OutgoingNotification[],
    by: ActorContext,
    belong: (tx: Transaction) => NotificationContext,
  ): Promise<unknown>;
};

/** What waits is given up so long before it would be of no use by itself, where somebody is to be told. own choice */
const NOTICE_LEAD_MS = 1_000;
/** A message that is not on air yet is looked at again after so long. own choice */
const RECHECK_MS = 1_000;
/** It is what `initiationSourceType` says of the message that tells. own choice */
const QUEUED_FAILURE = "queued-failure";

/**
 * Notes when a message has waited for its devices long enough, in the transaction that has them asked. own choice: an
 * emergency waits as long as it is of use, so that no limit ends it where its channel has yet to come to a device.
 */
export function scheduleQueueLimit(tx: Transaction, row: NotificationRow): void {
  // A bell waits for its moment and no longer, whatever its settings say.
  if (row.notificationSource === "bell-schedule") return;
  const { limitMs, groupId } = parseSendingProfile(row).queue;
  if (limitMs === null && groupId === null) return;
  const from = queuedSince(row);
  const limit = from + ((row.priorityLevel === 0 ? null : limitMs) ?? Number.POSITIVE_INFINITY);
  const useless = (row.notAfter ?? Number.POSITIVE_INFINITY) - NOTICE_LEAD_MS;
  scheduleTimer(tx, row, { kind: "queue-limit", ref: String(from), at: Math.min(limit, useless) });
}

/** Epoch ms from which on the newest try of a message waits. */
function queuedSince({ createdAt, stageAt, heldUntil, retriedAt }: NotificationRow): number {
  return Math.max(createdAt, stageAt ?? 0, heldUntil ?? 0, retriedAt ?? 0);
}

/**
 * Gives up what still waits for a device when a message has waited long enough, and has a group told of it, once, also
 * across a crash between the two. own choice: the message that tells is no emergency, has the default profile, and waits
 * itself without anybody being told.
 */
export function createQueueLimitHandler(needs: QueueLimitDeps): TimerHandler {
  const { store, clock, laneOf } = needs;
  return async (due) => {
    const row = store.get(notifications, due.notificationId);
    if (!row) return;
    const lane = laneOf(row.priorityLevel ?? 5);
    const live = needs.activeBroadcasts.find(row.id);
    if (!live && due.decided === null && row.stage !== "settled") {
      await store.write((tx) => postponeTimer(tx, due, clock.now() + RECHECK_MS), lane);
      return;
    }
    const seconds = Math.round((due.at - Number(due.ref)) / 1_000);
    const found = due.decided === null ? (live?.abandonWaiting(timeoutReason(seconds)) ?? 0) : Number(due.decided);
    const tells = await store.write((tx) => recordDecision(tx, row, due, { devices: found, seconds }, needs), lane);
    if (!tells) return;
    try {
      await sendNotice(row, due, { devices: found, seconds }, needs);
    } catch (error) {
      if (!(error instanceof CallerError)) throw error;
      const message = `Nobody was told that it waited too long: ${error.message}`;
      await store.write((tx) => completeTimer(tx, due) && logActivity(tx, row, { message }, needs), lane);
    }
  };
}

interface QueueTimeout {
  /** Devices that it was not sent to. */
  devices: number;
  seconds: number;
}

function timeoutReason(seconds: number): string {
  return `It waited for its device for ${seconds} s, as long as the message may.`;
}

/** True when somebody is to be told. */
function recordDecision(
  tx: Transaction,
  row: NotificationRow,
  due: NotificationTimer,
  waited: QueueTimeout,
  needs: QueueLimitDeps,
): boolean {
  if (due.decided !== null) return true;
  const { devices, seconds } = waited;
  const tells = devices > 0 && parseSendingProfile(row).queue.groupId !== null;
  if (tells) recordTimerDecision(tx, due, String(devices));
  else completeTimer(tx, due);
  if (devices > 0) {
    const message = `It had waited for ${devices} devices for ${seconds} s and was given up there.`;
    logActivity(tx, row, { message, ...waited }, needs);
  }
  return tells;
}

async function sendNotice(
  row: NotificationRow,
  due: NotificationTimer,
  waited: QueueTimeout,
  needs: QueueLimitDeps,
): Promise<void> {
  const { groupId, text } = parseSendingProfile(row).queue;
  const { devices, seconds } = waited;
  const usual = `"${row.subject}" waited for ${seconds} s and did not reach ${devices} devices, which were busy.`;
  const input = {
    subject: `Not sent everywhere: ${row.subject}`,
    body: text ?? usual,
    drill: row.drill,
    customVars: { subject: row.subject, ...waited },
    deviceGroupIds: [groupId],
    extensionSettingsOverrides: { [ONPREM_EXTENSION_ID]: { [QUEUED_FAILURE_GROUP]: null } },
  };
  const by = { ...needs.by, scope: { ...needs.by.scope, domainId: row.domainId } };
  const options = { source: row.notificationSource ?? "unknown-source", overrules: true } as const;
  await needs.send([{ input, options }], by, (tx) => {
    if (!completeTimer(tx, due)) throw new CallerError("conflict", "It was sent already.");
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
