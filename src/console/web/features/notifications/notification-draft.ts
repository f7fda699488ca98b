import type { Named, NotificationRow, TemplateRow } from "../../api/rows.ts";

/** What the sending form holds. */
export interface NotificationDraft {
  templateId: string | null;
  subject: string;
  body: string;
  /** The all-clear, made ready with the message; empty for none. */
  allClearSubject: string;
  allClearBody: string;
  alertTone: string;
  deviceGroupIds: readonly string[];
  distributionListIds: readonly string[];
  confirmationRequestId: string | null;
  /** Part of the message that is spoken; a recording replaces it, and a template has its own setting. */
  ttsType: SpokenPart;
  /** `coming` while it is recorded or read: a message must not be sent without its recording. */
  audio: File | "coming" | null;
  /** Id of the message that this one continues. */
  followUpFor: string | null;
  drill: boolean;
}

/** Parts of a message that text-to-speech can speak. */
export const SPOKEN_PARTS = ["none", "subject", "body", "subject-and-body"] as const;

/** One of the parts. */
export type SpokenPart = (typeof SPOKEN_PARTS)[number];

/** An empty form: live, with the tone that opens any message. */
export const EMPTY_DRAFT: NotificationDraft = {
  templateId: null,
  subject: "",
  body: "",
  allClearSubject: "",
  allClearBody: "",
  alertTone: "default",
  deviceGroupIds: [],
  distributionListIds: [],
  confirmationRequestId: null,
  ttsType: "none",
  audio: null,
  followUpFor: null,
  drill: false,
};

/** The parts of a message that a template may keep to itself. */
export type DraftPart = "subject" | "body" | "alertTone" | "audio" | "deviceGroupIds" | "distributionListIds";

/** Whether the sender may change the part: always without a template, otherwise as the template allows. */
export function isEditable(template: TemplateRow | null, part: DraftPart): boolean {
  return template === null || template[`${part}Customizable`];
}

/** The form as a template fills it; the choice of drill or live stays. */
export function draftFromTemplate(template: TemplateRow, { drill, followUpFor }: NotificationDraft): NotificationDraft {
  return {
    templateId: template.id,
    subject: template.subject,
    body: template.body ?? "",
    allClearSubject: template.allClearSubject ?? "",
    allClearBody: template.allClearBody ?? "",
    alertTone: template.alertTone ?? "default",
    deviceGroupIds: template.deviceGroupIds,
    distributionListIds: template.distributionListIds,
    confirmationRequestId: template.confirmationRequestId,
    ttsType: "none",
    audio: null,
    followUpFor,
    drill,
  };
}

/** The form as the continuation of a message: a drill where that was one, and to the same unless it names others. */
export function followUpDraft(before: NotificationRow, message: NotificationDraft): NotificationDraft {
  const idsOf = (rows: readonly Named[]) => rows.map(({ id }) => id);
  const named = message.deviceGroupIds.length + message.distributionListIds.length > 0;
  const same = { deviceGroupIds: idsOf(before.deviceGroups), distributionListIds: idsOf(before.distributionLists) };
  return { ...message, ...(named ? {} : same), followUpFor: before.id, drill: before.drill };
}

/** Whether the user has entered text or a recording. */
export function isDraftDirty({ subject, body, audio }: NotificationDraft, template: TemplateRow | null): boolean {
  return audio !== null || subject !== (template?.subject ?? "") || body !== (template?.body ?? "");
}

/** Message key of what is missing before the draft can be sent; null if complete. */
export function missingPart({ subject, audio, deviceGroupIds, distributionListIds }: NotificationDraft) {
  if (audio === "coming") return "send.recording-coming";
  return subject.trim() === "" || deviceGroupIds.length + distributionListIds.length === 0 ? "send.missing" : null;
}

/** The recording, when it is there. */
export function recordingOf({ audio }: NotificationDraft): File | null {
  return audio === "coming" ? null : audio;
}

/** Request body; parts that the template fixes are left out. */
export function notificationBody(
  message: NotificationDraft,
  template: TemplateRow | null,
  draft: boolean,
): Record<string, unknown> {
  const body: Record<string, unknown> = { drill: message.drill };
  if (draft) body.draft = true;
  if (message.followUpFor) body.followUpForNotificationId = message.followUpFor;
  if (message.templateId) body.messageTemplateId = message.templateId;
  else if (message.confirmationRequestId) body.confirmationRequestId = message.confirmationRequestId;
  if (!message.templateId && message.ttsType !== "none" && message.audio === null) body.ttsType = message.ttsType;
  for (const part of ["subject", "body", "alertTone", "deviceGroupIds", "distributionListIds"] as const) {
    if (isEditable(template, part)) body[part] = message[part];
  }
  // What a template keeps it may keep empty, too.
  if (message.allClearSubject || template) body.allClearSubject = message.allClearSubject;
  if (message.allClearBody || template) body.allClearBody = message.allClearBody;
  // A preview of words that are still being typed is a preview all the same.
  if (draft && body.subject === "") body.subject = "–";
  return body;
}

/** The same as a form, for a message with a recording: lists as repeated `name[]`. */
export function notificationFormData(body: Readonly<Record<string, unknown>>, audio: File): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(body)) {
    if (Array.isArray(value)) for (const each of value) form.append(`${name}[]`, String(each));
    else form.append(name, String(value));
  }
  form.append("audio", audio);
  return form;
}
