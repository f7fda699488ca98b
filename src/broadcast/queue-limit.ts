import { CallerError } from "../base/errors.ts";
import notifications from "../resources/broadcasts/notifications.ts";
import { ONPREM_EXTENSION_ID } from "../resources/devices/onprem.ts";
import type { By, Transaction } from "../store/store.ts";
import { addActivity } from "./activities.ts";
import type { Belonging, Outgoing } from "./broadcaster.ts";
import type { NotificationRow } from "./compose.ts";
import type { Desk } from "./desk.ts";
import { type Due, type DueHandler, decideDue, putOff, setDue, takeDue } from "./due.ts";
import { sendingProfileOf, TOLD_GROUP } from "./sending-profile.ts";
import type { StageNeeds } from "./stage.ts";

/** What giving up needs; `send` stores messages in one transaction and carries them out. */
export type QueueLimitNeeds = Pick<StageNeeds, "store" | "clock" | "by" | "endpointId" | "laneOf"> & {
  desk: Pick<Desk, "find">;
  send(messages: readonly Outgoing[], by: By, belong: (tx: Transaction) => Belonging): Promise<unknown>;
};

/** What waits is given up so long before it would be of no use by itself, where somebody is to be told. own choice */
const AHEAD_MS = 1_000;
/** A message that is not on air yet is looked at again after so long. own choice */
const NOT_YET_MS = 1_000;
/** It is what `initiationSourceType` says of the message that tells. own choice */
const WAITED_TOO_LONG = "queued-failure";

/**
 * Notes when a message has waited for its devices long enough, in the transaction that has them asked. own choice: an
 * emergency waits as long as it is of use, so that no limit ends it where its channel has yet to come to a device.
 */
export function setQueueLimit(tx: Transaction, row: NotificationRow): void {
  // A bell waits for its moment and no longer, whatever its settings say.
  if (row.notificationSource === "bell-schedule") return;
  const { limitMs, groupId } = sendingProfileOf(row).queue;
  if (limitMs === null && groupId === null) return;
  const from = sentAt(row);
  const limit = from + ((row.priorityLevel === 0 ? null : limitMs) ?? Number.POSITIVE_INFINITY);
  const useless = (row.notAfter ?? Number.POSITIVE_INFINITY) - AHEAD_MS;
  setDue(tx, row, { kind: "queue-limit", ref: String(from), at: Math.min(limit, useless) });
}

/** Epoch ms from which on the newest try of a message waits. */
function sentAt({ createdAt, stageAt, heldUntil, retriedAt }: NotificationRow): number {
  return Math.max(createdAt, stageAt ?? 0, heldUntil ?? 0, retriedAt ?? 0);
}

/**
 * Gives up what still waits for a device when a message has waited long enough, and has a group told of it, once, also
 * across a crash between the two. own choice: the message that tells is no emergency, has the default profile, and waits
 * itself without anybody being told.
 */
export function createQueueLimit(needs: QueueLimitNeeds): DueHandler {
  const { store, clock, laneOf } = needs;
  return async (due) => {
    const row = store.get(notifications, due.notificationId);
    if (!row) return;
    const lane = laneOf(row.priorityLevel ?? 5);
    const live = needs.desk.find(row.id);
    if (!live && due.decided === null && row.stage !== "settled") {
      await store.write((tx) => putOff(tx, due, clock.now() + NOT_YET_MS), lane);
      return;
    }
    const seconds = Math.round((due.at - Number(due.ref)) / 1_000);
    const found = due.decided === null ? (live?.giveUpWaiting(wordsFor(seconds)) ?? 0) : Number(due.decided);
    const tells = await store.write((tx) => decide(tx, row, due, { devices: found, seconds }, needs), lane);
    if (!tells) return;
    try {
      await tell(row, due, { devices: found, seconds }, needs);
    } catch (error) {
      if (!(error instanceof CallerError)) throw error;
      const message = `Nobody was told that it waited too long: ${error.message}`;
      await store.write((tx) => takeDue(tx, due) && note(tx, row, { message }, needs), lane);
    }
  };
}

interface Waited {
  /** Devices that it was not sent to. */
  devices: number;
  seconds: number;
}

function wordsFor(seconds: number): string {
  return `It waited for its device for ${seconds} s, as long as the message may.`;
}

/** True when somebody is to be told. */
function decide(tx: Transaction, row: NotificationRow, due: Due, waited: Waited, needs: QueueLimitNeeds): boolean {
  if (due.decided !== null) return true;
  const { devices, seconds } = waited;
  const tells = devices > 0 && sendingProfileOf(row).queue.groupId !== null;
  if (tells) decideDue(tx, due, String(devices));
  else takeDue(tx, due);
  if (devices > 0) {
    const message = `It had waited for ${devices} devices for ${seconds} s and was given up there.`;
    note(tx, row, { message, ...waited }, needs);
  }
  return tells;
}

async function tell(row: NotificationRow, due: Due, waited: Waited, needs: QueueLimitNeeds): Promise<void> {
  const { groupId, text } = sendingProfileOf(row).queue;
  const { devices, seconds } = waited;
  const usual = `"${row.subject}" waited for ${seconds} s and did not reach ${devices} devices, which were busy.`;
  const input = {
    subject: `Not sent everywhere: ${row.subject}`,
    body: text ?? usual,
    drill: row.drill,
    customVars: { subject: row.subject, ...waited },
    deviceGroupIds: [groupId],
    extensionSettingsOverrides: { [ONPREM_EXTENSION_ID]: { [TOLD_GROUP]: null } },
  };
  const by = { ...needs.by, scope: { ...needs.by.scope, domainId: row.domainId } };
  const options = { source: row.notificationSource ?? "unknown-source", overrules: true } as const;
  await needs.send([{ input, options }], by, (tx) => {
    if (!takeDue(tx, due)) throw new CallerError("conflict", "It was sent already.");
    return { parentNotificationId: row.id, incidentId: row.incidentId, initiationSourceType: WAITED_TOO_LONG };
  });
}

function note(
  tx: Transaction,
  { id: notificationId }: NotificationRow,
  details: Record<string, unknown>,
  { by, endpointId }: QueueLimitNeeds,
): void {
  addActivity(tx, { notificationId, type: "info", endpointId: endpointId(), details }, by);
}
