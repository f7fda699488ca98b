import { invalidValue } from "../../../lib/errors.ts";
import { newId } from "../../../lib/ids.ts";
import { sentence } from "../../../lib/sentences/sentences.ts";
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

/** Deadline of an unsent delivery when the message does not expire. @source docs/decisions/0040-replication.md */
const DELIVERY_DEADLINE_MS = { emergency: 15 * 60_000, routine: 2 * 60_000, livePage: 15_000 } as const;

/** Deadline, epoch ms, of the unsent deliveries of a message sent at `createdAt`. */
export function notificationDeadline({
  expiresAt,
  priorityLevel,
  createdAt,
  initiationSourceType,
}: Pick<NotificationRow, "expiresAt" | "priorityLevel" | "createdAt" | "initiationSourceType">): number {
  const routine = initiationSourceType === LIVE_PAGE ? "livePage" : "routine";
  return expiresAt ?? createdAt + DELIVERY_DEADLINE_MS[priorityLevel === 0 ? "emergency" : routine];
}

/** Without `secondPerson` no approval is required. */
export type AcceptDeps = PreviewDeps & Pick<PipelineStageDeps, "laneOf"> & { secondPerson?: TwoPersonRule | null };

/**
 * Validates a message and stores it with all its recipients in one transaction; resolves after COMMIT. A draft is only
 * previewed. The caller checks whether the sender may send at all. Throws CallerError.
 */
export async function accept(
  input: Readonly<Record<string, unknown>>,
  by: ActorContext,
  options: SendOptions,
  deps: AcceptDeps,
): Promise<NotificationRow> {
  const [message] = withApprovalHold([await prepareMessage(input, by, options, deps)], deps) as [PreparedMessage];
  const lane = deps.laneOf(message.own.priorityLevel);
  const row = await deps.store.write((tx) => {
    const made = insert(tx, message, by, deps.endpointId());
    const { ring, groups } = options.held?.standsIn ?? { ring: "", groups: [] };
    for (const group of groups) tx.run(INSERT_FAILOVER_RING_SQL, made.id, ring, group);
    return made;
  }, lane);
  if (row.draft) await writePreview(row, deps);
  return row;
}

const INSERT_FAILOVER_RING_SQL = "INSERT INTO notification_failover_rings (notification, ring, cover) VALUES (?, ?, ?)";

/** As `accept` for several messages without previews, all in one transaction or none; `belong` runs first in it. */
export async function acceptBatch(
  messages: readonly OutgoingNotification[],
  by: ActorContext,
  createContext: (tx: Transaction) => NotificationContext,
  deps: AcceptDeps,
): Promise<NotificationRow[]> {
  const made: PreparedMessage[] = [];
  for (const { input, options } of messages) made.push(await prepareMessage(input, by, options, deps));
  const ready = withApprovalHold(made, deps);
  const lane = deps.laneOf(Math.min(...ready.map(({ own }) => own.priorityLevel)));
  return deps.store.write((tx) => {
    const context = createContext(tx);
    return ready.map(({ named, own }) =>
      insert(tx, { named, own: { ...own, ...context } }, by, deps.endpointId()),
    ) as Sync<NotificationRow[]>;
  }, lane);
}

/** A message that has passed every check that needs no transaction. */
export interface PreparedMessage {
  /** The sender's references, which must be visible to the sender. */
  named: object;
  own: SendingValues;
  /** Approval is required. */
  waits: boolean;
}

/** Messages that are sent together wait for approval together. */
function withApprovalHold(ready: readonly PreparedMessage[], { secondPerson }: AcceptDeps): readonly PreparedMessage[] {
  if (!secondPerson || !ready.some(({ waits }) => waits)) return ready;
  return ready.map((each) => ({
    ...each,
    own: { ...each.own, ...awaitingApproval(each.own.createdAt, secondPerson) },
  }));
}

/** Validates and builds a message; stores nothing. Throws CallerError. */
export async function prepareMessage(
  input: Readonly<Record<string, unknown>>,
  by: ActorContext,
  options: SendOptions,
  deps: AcceptDeps,
): Promise<PreparedMessage> {
  const { store } = deps;
  if (input.audio instanceof UploadedFile) inspectRecording(await store.files.read(input.audio.file));
  const read = resolveIndividualDevices(parseMessageInput(input), store);
  const inherited = inheritContext(read, store, by, options.incidentId);
  const { sameRecipientsAs } = options;
  const given = sameRecipientsAs ? withRecipientsOf(sameRecipientsAs, read, store) : read;
  const template = options.overrules ? findAnyTemplate(given, store) : findAllowedTemplate(given, store, by);
  const message = { ...buildMessage(given, template, options.overrules), ...inherited };
  const own = sendingValues(message, by, options, deps);
  const waits = await requiresApproval(own, by, options, deps);
  return options.overrules ? { named: {}, own, waits } : { ...splitVisibleReferences(own, given), waits };
}

function findAnyTemplate({ values }: MessageInput, reader: StoreReader): TemplateRow | null {
  const template = values.messageTemplateId ? reader.get(messageTemplates, values.messageTemplateId) : null;
  if (values.messageTemplateId && !template)
    throw invalidValue("messageTemplateId", sentence("field.template-not-found"));
  return template;
}

function findAllowedTemplate({ values }: MessageInput, reader: StoreReader, by: ActorContext): TemplateRow | null {
  const allowed = readAllowList(reader, "message-templates", by);
  const id = values.messageTemplateId;
  const template = id ? reader.get(messageTemplates, id, by.scope) : null;
  if (id && !template) throw invalidValue("messageTemplateId", sentence("field.template-not-found-id", { id }));
  if (allowed && !(template && allowed.has(template.pk))) {
    throw invalidValue(
      "messageTemplateId",
      sentence("field.the-security-groups-of-the-sender-do-not-allow-this-template"),
    );
  }
  return template;
}

type SendingValues = ReturnType<typeof sendingValues>;

function sendingValues(message: Partial<NotificationRow>, by: ActorContext, options: SendOptions, deps: AcceptDeps) {
  const { held } = options;
  const id = held?.id ?? newId();
  const now = deps.clock.now();
  const sentAt = Math.max(now, held?.at ?? now);
  const chosen = findProfile(deps.store, message.notificationProfileId);
  const settings = mergeExtensionSettings(chosen && storedSettingsOf(chosen), message.extensionSettingsOverrides);
  checkOverrides(message.extensionSettingsOverrides, deps);
  checkQueuedFailureGroup(message.extensionSettingsOverrides, by, options, deps.store);
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
    initiatingEndpointId: deps.endpointId(),
    expiresAt,
    notAfter,
    heldUntil: held?.at ?? null,
    ...(held && { initiationSourceDescription: held.description }),
    ...(options.rule && {
      initiationSourceId: options.rule.id,
      initiationSourceDescription: options.rule.description,
    }),
    toldBefore: options.sameRecipientsAs ? JSON.stringify(options.sameRecipientsAs) : null,
    priorityLevel,
    ssrc: ssrcOf(id),
    stage: stage as NotificationStage,
    stageAt: now,
  } satisfies SystemValues<typeof notifications>;
}

/**
 * Overrides of plugin settings are checked against their schema; profile settings were checked when they were written.
 */
function checkOverrides(overrides: unknown, { providers }: AcceptDeps): void {
  for (const [id, value] of Object.entries((overrides ?? {}) as Record<string, Record<string, unknown>>)) {
    const error = providers.profileSchema(id.toLowerCase())?.validate(value)[0];
    if (error) throw invalidValue("extensionSettingsOverrides", `${id}: ${error.message}`);
  }
}

/** The group gets text of the sender, so the sender must see it. */
function checkQueuedFailureGroup(
  overrides: unknown,
  by: ActorContext,
  { overrules }: SendOptions,
  reader: StoreReader,
): void {
  const own = Object.entries((overrides ?? {}) as Record<string, Record<string, unknown>>);
  const group = queuedFailureGroupOf(own.find(([id]) => id.toLowerCase() === ONPREM_EXTENSION_ID)?.[1]);
  if (group === null || overrules || reader.get(deviceGroups, group, by.scope)) return;
  throw invalidValue(
    "extensionSettingsOverrides",
    sentence("field.setting-device-group-not-found-group", { setting: QUEUED_FAILURE_GROUP, group }),
  );
}

/** The sender's references must be visible to the sender; those of the template need not be. */
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
    const details = { message: sentence("activity.waits-for-approval") };
    addActivity(tx, { notificationId: row.id, type: "info", userId: row.initiatorId, endpointId, details }, by);
  } else {
    startSending(tx, row, by, endpointId);
  }
  return row;
}

/** Schedules the follow-up actions of a message that is sent at `createdAt`, in the transaction that sends it. */
export function startSending(tx: Transaction, row: NotificationRow, by: ActorContext, endpointId: string): void {
  addActivity(tx, { notificationId: row.id, type: "init-services", userId: row.initiatorId, endpointId }, by);
  scheduleEscalations(tx, row);
  scheduleRepeats(tx, row);
  tx.emit("notification.accepted", { notificationId: row.id, priority: row.priorityLevel ?? 5 });
}
