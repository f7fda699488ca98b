import { invalidValue } from "../../../lib/errors.ts";
import { newId } from "../../../lib/ids.ts";
import { inspectRecording } from "../../../media/recording-inspection.ts";
import { ssrcOf } from "../../../media/rtp.ts";
import { readAllowList } from "../../../permissions/security-group-actions.ts";
import deviceGroups from "../../../resources/devices/device-groups.ts";
import { ONPREM_EXTENSION_ID } from "../../../resources/devices/on-premises-extension.ts";
import messageTemplates from "../../../resources/messages/message-templates.ts";
import notifications from "../../../resources/notifications/notifications.ts";
import type { Field } from "../../../schema/field.ts";
import type { SystemValues } from "../../../schema/resource.ts";
import { UploadedFile } from "../../../schema/uploaded-file.ts";
import type { ActorContext, StoreReader, Sync, Transaction } from "../../../store/store.ts";
import { LIVE_PAGE } from "../../compose/audio-rendering.ts";
import { inheritContext, withRecipientsOf } from "../../compose/follow-ups.ts";
import {
  buildMessage,
  type MessageInput,
  type NotificationRow,
  parseMessageInput,
  type TemplateRow,
} from "../../compose/message-builder.ts";
import { findProfile, storedSettingsOf } from "../../compose/notification-profile-hooks.ts";
import { mergeExtensionSettings } from "../../compose/profile-settings.ts";
import {
  priorityLevelOf,
  QUEUED_FAILURE_GROUP,
  queuedFailureGroupOf,
  toSendingProfile,
} from "../../compose/sending-profile.ts";
import type { NotificationContext, OutgoingNotification, SendOptions } from "../../notification-service.ts";
import { resolveIndividualDevices } from "../../recipients/individual-devices.ts";
import { scheduleEscalations } from "../../responses/escalations.ts";
import { scheduleRepeats } from "../../responses/repeat-schedule.ts";
import { awaitingApproval, requiresApproval, type TwoPersonRule } from "../../responses/two-person-approval.ts";
import { addActivity } from "../activity-log.ts";
import type { NotificationStage, PipelineStageDeps } from "../pipeline-stage.ts";
import { type PreviewDeps, writePreview } from "../preview.ts";

/** How long an unsent delivery is of use when the message does not expire. @source replication.md, amendment (c) */
const DELIVERY_DEADLINE_MS = { emergency: 15 * 60_000, routine: 2 * 60_000, livePage: 15_000 } as const;

/** Epoch ms after which an unsent delivery of a message that is sent at `createdAt` is of no use. */
export function notificationDeadline({
  expiresAt,
  priorityLevel,
  createdAt,
  initiationSourceType,
}: Pick<NotificationRow, "expiresAt" | "priorityLevel" | "createdAt" | "initiationSourceType">): number {
  const routine = initiationSourceType === LIVE_PAGE ? "livePage" : "routine";
  return expiresAt ?? createdAt + DELIVERY_DEADLINE_MS[priorityLevel === 0 ? "emergency" : routine];
}

/** What accepting a message needs; without `secondPerson` nobody else is asked. */
export type AcceptDeps = PreviewDeps & Pick<PipelineStageDeps, "laneOf"> & { secondPerson?: TwoPersonRule | null };

/**
 * Checks a message and stores it with everybody it names in one transaction; resolves after COMMIT. A draft is only
 * foreseen. Whether the sender may send at all is judged by the caller.
 * Throws CallerError.
 */
export async function accept(
  input: Readonly<Record<string, unknown>>,
  by: ActorContext,
  options: SendOptions,
  needs: AcceptDeps,
): Promise<NotificationRow> {
  const [message] = withApprovalHold([await prepareMessage(input, by, options, needs)], needs) as [PreparedMessage];
  const lane = needs.laneOf(message.own.priorityLevel);
  const row = await needs.store.write((tx) => {
    const made = insert(tx, message, by, needs.endpointId());
    const { ring, groups } = options.held?.standsIn ?? { ring: "", groups: [] };
    for (const group of groups) tx.run(INSERT_FAILOVER_RING_SQL, made.id, ring, group);
    return made;
  }, lane);
  if (row.draft) await writePreview(row, needs);
  return row;
}

const INSERT_FAILOVER_RING_SQL = "INSERT INTO notification_failover_rings (notification, ring, cover) VALUES (?, ?, ?)";

/** As `accept` for several messages that nobody previews, all in one transaction or none; `belong` runs first in it. */
export async function acceptBatch(
  messages: readonly OutgoingNotification[],
  by: ActorContext,
  belong: (tx: Transaction) => NotificationContext,
  needs: AcceptDeps,
): Promise<NotificationRow[]> {
  const made: PreparedMessage[] = [];
  for (const { input, options } of messages) made.push(await prepareMessage(input, by, options, needs));
  const ready = withApprovalHold(made, needs);
  const lane = needs.laneOf(Math.min(...ready.map(({ own }) => own.priorityLevel)));
  return needs.store.write((tx) => {
    const belonging = belong(tx);
    return ready.map(({ named, own }) =>
      insert(tx, { named, own: { ...own, ...belonging } }, by, needs.endpointId()),
    ) as Sync<NotificationRow[]>;
  }, lane);
}

/** A message that has passed every check that needs no transaction. */
export interface PreparedMessage {
  /** What the sender names, which must be visible to the sender. */
  named: object;
  own: SendingValues;
  /** Another person must approve it. */
  waits: boolean;
}

/** What is sent together waits together. */
function withApprovalHold(ready: readonly PreparedMessage[], { secondPerson }: AcceptDeps): readonly PreparedMessage[] {
  if (!secondPerson || !ready.some(({ waits }) => waits)) return ready;
  return ready.map((each) => ({
    ...each,
    own: { ...each.own, ...awaitingApproval(each.own.createdAt, secondPerson) },
  }));
}

/** Checks a message and puts it together; nothing is stored. Throws CallerError. */
export async function prepareMessage(
  input: Readonly<Record<string, unknown>>,
  by: ActorContext,
  options: SendOptions,
  needs: AcceptDeps,
): Promise<PreparedMessage> {
  const { store } = needs;
  if (input.audio instanceof UploadedFile) inspectRecording(await store.files.read(input.audio.file));
  const read = resolveIndividualDevices(parseMessageInput(input), store);
  const inherited = inheritContext(read, store, by, options.incidentId);
  const { sameRecipientsAs } = options;
  const given = sameRecipientsAs ? withRecipientsOf(sameRecipientsAs, read, store) : read;
  const template = options.overrules ? findAnyTemplate(given, store) : findAllowedTemplate(given, store, by);
  const message = { ...buildMessage(given, template, options.overrules), ...inherited };
  const own = sendingValues(message, by, options, needs);
  const waits = await requiresApproval(own, by, options, needs);
  return options.overrules ? { named: {}, own, waits } : { ...splitVisibleReferences(own, given), waits };
}

function findAnyTemplate({ values }: MessageInput, reader: StoreReader): TemplateRow | null {
  const template = values.messageTemplateId ? reader.get(messageTemplates, values.messageTemplateId) : null;
  if (values.messageTemplateId && !template) throw invalidValue("messageTemplateId", "There is no such template.");
  return template;
}

function findAllowedTemplate({ values }: MessageInput, reader: StoreReader, by: ActorContext): TemplateRow | null {
  const allowed = readAllowList(reader, "message-templates", by);
  const id = values.messageTemplateId;
  const template = id ? reader.get(messageTemplates, id, by.scope) : null;
  if (id && !template) throw invalidValue("messageTemplateId", `There is none with the id ${id}.`);
  if (allowed && !(template && allowed.has(template.pk))) {
    throw invalidValue("messageTemplateId", "The security groups of the sender allow other templates alone.");
  }
  return template;
}

type SendingValues = ReturnType<typeof sendingValues>;

function sendingValues(message: Partial<NotificationRow>, by: ActorContext, options: SendOptions, needs: AcceptDeps) {
  const { held } = options;
  const id = held?.id ?? newId();
  const now = needs.clock.now();
  const sentAt = Math.max(now, held?.at ?? now);
  const chosen = findProfile(needs.store, message.notificationProfileId);
  const settings = mergeExtensionSettings(chosen && storedSettingsOf(chosen), message.extensionSettingsOverrides);
  checkOverrides(message.extensionSettingsOverrides, needs);
  checkQueuedFailureGroup(message.extensionSettingsOverrides, by, options, needs.store);
  const profile = toSendingProfile(settings);
  const priorityLevel = priorityLevelOf(message.priority ?? "normal", options, profile);
  const initiationSourceType = options.isLive ? LIVE_PAGE : null;
  const expiresAt = message.expiration ? sentAt + message.expiration * 1_000 : null;
  const until = notificationDeadline({ expiresAt, priorityLevel, createdAt: sentAt, initiationSourceType });
  const notAfter = held && priorityLevel > 0 ? Math.min(until, held.at + held.usefulMs) : until;
  const stage: NotificationStage = message.draft ? "draft" : "resolve";
  return {
    ...message,
    id,
    createdAt: now,
    updatedAt: now,
    effectiveSettings: JSON.stringify(settings),
    notificationSource: options.source,
    initiationSourceType,
    initiatorId: by.actor.userId,
    initiatingEndpointId: needs.endpointId(),
    expiresAt,
    notAfter,
    heldUntil: held?.at ?? null,
    ...(held && { initiationSourceDescription: held.description }),
    toldBefore: options.sameRecipientsAs ? JSON.stringify(options.sameRecipientsAs) : null,
    priorityLevel,
    ssrc: ssrcOf(id),
    stage: stage as NotificationStage,
    stageAt: now,
  } satisfies SystemValues<typeof notifications>;
}

/** What a sender says of plugins is held against what they take; what profiles say was when it was written. */
function checkOverrides(overrides: unknown, { providers }: AcceptDeps): void {
  for (const [id, value] of Object.entries((overrides ?? {}) as Record<string, Record<string, unknown>>)) {
    const fault = providers.profileSchema(id.toLowerCase())?.validate(value)[0];
    if (fault) throw invalidValue("extensionSettingsOverrides", `${id}: ${fault.message}`);
  }
}

/** It gets words of the sender's, so the sender must see it. */
function checkQueuedFailureGroup(
  overrides: unknown,
  by: ActorContext,
  { overrules }: SendOptions,
  reader: StoreReader,
): void {
  const own = Object.entries((overrides ?? {}) as Record<string, Record<string, unknown>>);
  const group = queuedFailureGroupOf(own.find(([id]) => id.toLowerCase() === ONPREM_EXTENSION_ID)?.[1]);
  if (group === null || overrules || reader.get(deviceGroups, group, by.scope)) return;
  throw invalidValue("extensionSettingsOverrides", `${QUEUED_FAILURE_GROUP}: there is no group with the id ${group}.`);
}

/** What the sender names must be visible to the sender; what the template names need not be. */
function splitVisibleReferences(values: SendingValues, { given }: MessageInput): Omit<PreparedMessage, "waits"> {
  const isNamed = (field: string): boolean => {
    const spec = (notifications.fields as Readonly<Record<string, Field>>)[field];
    return given.has(field) && (spec?.kind === "ref" || spec?.kind === "many");
  };
  const entries = Object.entries(values);
  return {
    named: Object.fromEntries(entries.filter(([field]) => isNamed(field))),
    own: Object.fromEntries(entries.filter(([field]) => !isNamed(field))) as SendingValues,
  };
}

function insert(
  tx: Transaction,
  { named, own }: { named: object; own: SystemValues<typeof notifications> },
  by: ActorContext,
  endpointId: string,
): NotificationRow {
  const row = tx.create(notifications, named, by, own);
  if (row.draft) return row;
  if (row.approval === "waiting") {
    const details = { message: "It waits for the approval of another person." };
    addActivity(tx, { notificationId: row.id, type: "info", userId: row.initiatorId, endpointId, details }, by);
  } else {
    startSending(tx, row, by, endpointId);
  }
  return row;
}

/** Writes what follows from a message that goes out at `createdAt`, in the transaction that has it sent. */
export function startSending(tx: Transaction, row: NotificationRow, by: ActorContext, endpointId: string): void {
  addActivity(tx, { notificationId: row.id, type: "init-services", userId: row.initiatorId, endpointId }, by);
  scheduleEscalations(tx, row);
  scheduleRepeats(tx, row);
  tx.emit("notification.accepted", { notificationId: row.id, priority: row.priorityLevel ?? 5 });
}
