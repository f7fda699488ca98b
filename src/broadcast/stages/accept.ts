import { allowedOnly } from "../../access/group-actions.ts";
import { inspectRecording } from "../../audio/clipping.ts";
import { ssrcOf } from "../../audio/rtp.ts";
import { invalidValue } from "../../base/errors.ts";
import { newId } from "../../base/ids.ts";
import notifications from "../../resources/broadcasts/notifications.ts";
import deviceGroups from "../../resources/devices/device-groups.ts";
import { ONPREM_EXTENSION_ID } from "../../resources/devices/onprem.ts";
import messageTemplates from "../../resources/messages/message-templates.ts";
import type { Field } from "../../schema/field.ts";
import type { SystemValues } from "../../schema/resource.ts";
import { UploadedFile } from "../../schema/uploaded-file.ts";
import type { By, Reader, Sync, Transaction } from "../../store/store.ts";
import { addActivity } from "../activities.ts";
import type { Belonging, Outgoing, SendOptions } from "../broadcaster.ts";
import { composeMessage, type GivenMessage, type NotificationRow, readMessage, type TemplateRow } from "../compose.ts";
import { inheritedBy, toRecipientsOf } from "../continuation.ts";
import { setEscalations } from "../escalations.ts";
import { type PreviewNeeds, writePreview } from "../preview.ts";
import { profileFor, settingsIn } from "../profile-behaviour.ts";
import { extensionSettings } from "../profile-settings.ts";
import { LIVE_PAGE } from "../programme.ts";
import { setRepeats } from "../repeat-times.ts";
import { needsSecondPerson, type SecondPerson, waitingSince } from "../second-person.ts";
import { priorityLevelOf, readSendingProfile, TOLD_GROUP, toldGroupIn } from "../sending-profile.ts";
import { withSingleDevices } from "../single-devices.ts";
import type { NextStage, StageNeeds } from "../stage.ts";

/** How long an unsent delivery is of use when the message does not expire. @source replication.md, amendment (c) */
const USEFUL_MS = { emergency: 15 * 60_000, routine: 2 * 60_000, livePage: 15_000 } as const;

/** Epoch ms after which an unsent delivery of a message that is sent at `createdAt` is of no use. */
export function usefulUntil({
  expiresAt,
  priorityLevel,
  createdAt,
  initiationSourceType,
}: Pick<NotificationRow, "expiresAt" | "priorityLevel" | "createdAt" | "initiationSourceType">): number {
  const routine = initiationSourceType === LIVE_PAGE ? "livePage" : "routine";
  return expiresAt ?? createdAt + USEFUL_MS[priorityLevel === 0 ? "emergency" : routine];
}

/** What accepting a message needs; without `secondPerson` nobody else is asked. */
export type AcceptNeeds = PreviewNeeds & Pick<StageNeeds, "laneOf"> & { secondPerson?: SecondPerson | null };

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
  const [message] = heldBack([await makeReady(input, by, options, needs)], needs) as [ReadyMessage];
  const lane = needs.laneOf(message.own.priorityLevel);
  const row = await needs.store.write((tx) => {
    const made = insert(tx, message, by, needs.endpointId());
    const { ring, groups } = options.held?.standsIn ?? { ring: "", groups: [] };
    for (const group of groups) tx.run(STANDS_IN, made.id, ring, group);
    return made;
  }, lane);
  if (row.draft) await writePreview(row, needs);
  return row;
}

const STANDS_IN = "INSERT INTO broadcast_stand_ins (notification, ring, cover) VALUES (?, ?, ?)";

/** As `accept` for several messages that nobody previews, all in one transaction or none; `belong` runs first in it. */
export async function acceptTogether(
  messages: readonly Outgoing[],
  by: By,
  belong: (tx: Transaction) => Belonging,
  needs: AcceptNeeds,
): Promise<NotificationRow[]> {
  const made: ReadyMessage[] = [];
  for (const { input, options } of messages) made.push(await makeReady(input, by, options, needs));
  const ready = heldBack(made, needs);
  const lane = needs.laneOf(Math.min(...ready.map(({ own }) => own.priorityLevel)));
  return needs.store.write((tx) => {
    const belonging = belong(tx);
    return ready.map(({ named, own }) =>
      insert(tx, { named, own: { ...own, ...belonging } }, by, needs.endpointId()),
    ) as Sync<NotificationRow[]>;
  }, lane);
}

/** A message that has passed every check that needs no transaction. */
export interface ReadyMessage {
  /** What the sender names, which must be visible to the sender. */
  named: object;
  own: SendingValues;
  /** Another person must approve it. */
  waits: boolean;
}

/** What is sent together waits together. */
function heldBack(ready: readonly ReadyMessage[], { secondPerson }: AcceptNeeds): readonly ReadyMessage[] {
  if (!secondPerson || !ready.some(({ waits }) => waits)) return ready;
  return ready.map((each) => ({ ...each, own: { ...each.own, ...waitingSince(each.own.createdAt, secondPerson) } }));
}

/** Checks a message and puts it together; nothing is stored. Throws CallerError. */
export async function makeReady(
  input: Readonly<Record<string, unknown>>,
  by: By,
  options: SendOptions,
  needs: AcceptNeeds,
): Promise<ReadyMessage> {
  const { store } = needs;
  if (input.audio instanceof UploadedFile) inspectRecording(await store.files.read(input.audio.file));
  const read = withSingleDevices(readMessage(input), store);
  const inherited = inheritedBy(read, store, by, options.incidentId);
  const { sameRecipientsAs } = options;
  const given = sameRecipientsAs ? toRecipientsOf(sameRecipientsAs, read, store) : read;
  const template = options.overrules ? anyTemplate(given, store) : templateOf(given, store, by);
  const message = { ...composeMessage(given, template, options.overrules), ...inherited };
  const own = sendingValues(message, by, options, needs);
  const waits = await needsSecondPerson(own, by, options, needs);
  return options.overrules ? { named: {}, own, waits } : { ...splitReferences(own, given), waits };
}

function anyTemplate({ values }: GivenMessage, reader: Reader): TemplateRow | null {
  const template = values.messageTemplateId ? reader.get(messageTemplates, values.messageTemplateId) : null;
  if (values.messageTemplateId && !template) throw invalidValue("messageTemplateId", "There is no such template.");
  return template;
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
  const { held } = options;
  const id = held?.id ?? newId();
  const now = needs.clock.now();
  const sentAt = Math.max(now, held?.at ?? now);
  const chosen = profileFor(needs.store, message.notificationProfileId);
  const settings = extensionSettings(chosen && settingsIn(chosen), message.extensionSettingsOverrides);
  checkOverrides(message.extensionSettingsOverrides, needs);
  checkToldGroup(message.extensionSettingsOverrides, by, options, needs.store);
  const profile = readSendingProfile(settings);
  const priorityLevel = priorityLevelOf(message.priority ?? "normal", options, profile);
  const initiationSourceType = options.isLive ? LIVE_PAGE : null;
  const expiresAt = message.expiration ? sentAt + message.expiration * 1_000 : null;
  const until = usefulUntil({ expiresAt, priorityLevel, createdAt: sentAt, initiationSourceType });
  const notAfter = held && priorityLevel > 0 ? Math.min(until, held.at + held.usefulMs) : until;
  const stage: NextStage = message.draft ? "draft" : "resolve";
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
    stage: stage as NextStage,
    stageAt: now,
  } satisfies SystemValues<typeof notifications>;
}

/** What a sender says of plugins is held against what they take; what profiles say was when it was written. */
function checkOverrides(overrides: unknown, { providers }: AcceptNeeds): void {
  for (const [id, value] of Object.entries((overrides ?? {}) as Record<string, Record<string, unknown>>)) {
    const fault = providers.profileSchema(id.toLowerCase())?.faultsOf(value)[0];
    if (fault) throw invalidValue("extensionSettingsOverrides", `${id}: ${fault.message}`);
  }
}

/** It gets words of the sender's, so the sender must see it. */
function checkToldGroup(overrides: unknown, by: By, { overrules }: SendOptions, reader: Reader): void {
  const own = Object.entries((overrides ?? {}) as Record<string, Record<string, unknown>>);
  const group = toldGroupIn(own.find(([id]) => id.toLowerCase() === ONPREM_EXTENSION_ID)?.[1]);
  if (group === null || overrules || reader.get(deviceGroups, group, by.scope)) return;
  throw invalidValue("extensionSettingsOverrides", `${TOLD_GROUP}: there is no group with the id ${group}.`);
}

/** What the sender names must be visible to the sender; what the template names need not be. */
function splitReferences(values: SendingValues, { given }: GivenMessage): Omit<ReadyMessage, "waits"> {
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
  by: By,
  endpointId: string,
): NotificationRow {
  const row = tx.create(notifications, named, by, own);
  if (row.draft) return row;
  if (row.approval === "waiting") {
    const details = { message: "It waits for the approval of another person." };
    addActivity(tx, { notificationId: row.id, type: "info", userId: row.initiatorId, endpointId, details }, by);
  } else {
    setOff(tx, row, by, endpointId);
  }
  return row;
}

/** Writes what follows from a message that goes out at `createdAt`, in the transaction that has it sent. */
export function setOff(tx: Transaction, row: NotificationRow, by: By, endpointId: string): void {
  addActivity(tx, { notificationId: row.id, type: "init-services", userId: row.initiatorId, endpointId }, by);
  setEscalations(tx, row);
  setRepeats(tx, row);
  tx.emit("notification.accepted", { notificationId: row.id, priority: row.priorityLevel ?? 5 });
}
