import { allowedOnly } from "../../access/group-actions.ts";
import { ssrcOf } from "../../audio/rtp.ts";
import { toneSegments } from "../../audio/tones.ts";
import { inspectWav } from "../../audio/wav.ts";
import { invalidValue } from "../../base/errors.ts";
import { newId } from "../../base/ids.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import messageTemplates from "../../resources/messages/message-templates.ts";
import type { Field } from "../../schema/field.ts";
import type { SystemValues } from "../../schema/resource.ts";
import { UploadedFile } from "../../schema/uploaded-file.ts";
import type { By, Reader, Transaction } from "../../store/store.ts";
import { addActivity } from "../activities.ts";
import type { SendOptions } from "../broadcaster.ts";
import { composeMessage, type GivenMessage, type NotificationRow, readMessage, type TemplateRow } from "../compose.ts";
import { continuedBy, inheritedFrom, toRecipientsOf } from "../continuation.ts";
import { type PreviewNeeds, writePreview } from "../preview.ts";
import { priorityLevelOf, readSendingProfile } from "../sending-profile.ts";
import type { NextStage, StageNeeds } from "../stage.ts";

/** How long an unsent delivery is of use when the message does not expire. @source replication.md, amendment (c) */
const USEFUL_MS = { emergency: 15 * 60_000, routine: 2 * 60_000 } as const;

/** Epoch ms after which an unsent delivery of a message that is sent at `createdAt` is of no use. */
export function usefulUntil({
  expiresAt,
  priorityLevel,
  createdAt,
}: Pick<NotificationRow, "expiresAt" | "priorityLevel" | "createdAt">): number {
  return expiresAt ?? createdAt + USEFUL_MS[priorityLevel === 0 ? "emergency" : "routine"];
}

/** What accepting a message needs. */
export type AcceptNeeds = PreviewNeeds & Pick<StageNeeds, "laneOf">;

/**
 * Checks a message and stores it with everybody it names in one transaction; resolves after COMMIT. A draft is only
 * foreseen. Whether the sender may send at all is judged by the caller.
 * Throws CallerError.
 */
export async function accept(
  input: Readonly<Record<string, unknown>>,
  by: By,
  options: SendOptions,
  needs: AcceptNeeds,
): Promise<NotificationRow> {
  const { store } = needs;
  if (input.audio instanceof UploadedFile) inspectWav(await store.files.read(input.audio.file));
  const read = readMessage(input);
  const before = continuedBy(read, store, by);
  const given = before && options.sameRecipients ? toRecipientsOf(before, read) : read;
  const message = { ...composeMessage(given, templateOf(given, store, by)), ...(before && inheritedFrom(before)) };
  toneSegments(message.alertTone ?? "silent");
  const values = sendingValues(message, by, options, needs);
  const named = splitReferences(values, given);
  const lane = needs.laneOf(values.priorityLevel);
  const row = await store.write((tx) => insert(tx, named, by, needs.endpointId()), lane);
  if (row.draft) await writePreview(row, needs);
  return row;
}

function templateOf({ values }: GivenMessage, reader: Reader, by: By): TemplateRow | null {
  const allowed = allowedOnly(reader, "message-templates", by);
  const id = values.messageTemplateId;
  const template = id ? reader.get(messageTemplates, id, by.scope) : null;
  if (id && !template) throw invalidValue("messageTemplateId", `There is none with the id ${id}.`);
  if (allowed && !(template && allowed.has(template.pk))) {
    throw invalidValue("messageTemplateId", "The security groups of the sender allow other templates alone.");
  }
  return template;
}

type SendingValues = ReturnType<typeof sendingValues>;

function sendingValues(message: Partial<NotificationRow>, by: By, options: SendOptions, needs: AcceptNeeds) {
  const id = newId();
  const now = needs.clock.now();
  const profile = readSendingProfile(message.extensionSettingsOverrides);
  const priorityLevel = priorityLevelOf(message.priority ?? "normal", options.source, profile);
  const expiresAt = message.expiration ? now + message.expiration * 1_000 : null;
  const notAfter = usefulUntil({ expiresAt, priorityLevel, createdAt: now });
  const stage: NextStage = message.draft ? "draft" : "resolve";
  return {
    ...message,
    id,
    createdAt: now,
    updatedAt: now,
    notificationSource: options.source,
    initiatorId: by.actor.userId,
    initiatingEndpointId: needs.endpointId(),
    expiresAt,
    notAfter,
    priorityLevel,
    ssrc: ssrcOf(id),
    stage,
    stageAt: now,
  } satisfies SystemValues<typeof notifications>;
}

/** What the sender names must be visible to the sender; what the template names need not be. */
function splitReferences(values: SendingValues, { given }: GivenMessage): { named: object; own: SendingValues } {
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
  { named, own }: { named: object; own: SendingValues },
  by: By,
  endpointId: string,
): NotificationRow {
  const row = tx.create(notifications, named, by, own);
  if (row.draft) return row;
  addActivity(tx, { notificationId: row.id, type: "init-services", userId: row.initiatorId, endpointId }, by);
  tx.emit("notification.accepted", { notificationId: row.id, priority: own.priorityLevel });
  return row;
}
