import { isDeepStrictEqual } from "node:util";
import { type FieldError, invalidValue, requiredValue, validationError } from "../../lib/errors.ts";
import type messageTemplates from "../../resources/messages/message-templates.ts";
import { CUSTOMIZABLE_FIELDS } from "../../resources/messages/template-customization.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { StoredFile } from "../../schema/field.ts";
import type { RowOf } from "../../schema/resource.ts";
import { compileValidator } from "../../schema/validator.ts";
import { interpolate, parseVariables, type Variables } from "./interpolation.ts";
import { escapeMarkup, splitSsml } from "./ssml.ts";

/** A message that is or was sent. */
export type NotificationRow = RowOf<typeof notifications>;
/** A message made ready for sending. */
export type TemplateRow = RowOf<typeof messageTemplates>;

/** What a message takes from its template when the sender does not give it. */
const FROM_TEMPLATE = [
  ...CUSTOMIZABLE_FIELDS,
  "metadata",
  "imageAltText",
  "ttsType",
  "ttsSpeed",
  "priority",
  "notificationProfileId",
  "allClearSubject",
  "allClearBody",
] as const satisfies readonly (keyof NotificationRow & keyof TemplateRow)[];

/** Parts with a flag of their own. own choice: the others may be given freely, there being nothing to forbid them by. */
const CUSTOMIZABLE: ReadonlySet<string> = new Set([...CUSTOMIZABLE_FIELDS, "metadata"]);

/** Fields that say who gets a message; one of them must not be empty. */
export const RECIPIENT_FIELDS = [
  "distributionListIds",
  "userIds",
  "deviceGroupIds",
  "areaOfInterestIds",
  "collaborationGroupIds",
] as const;

/** Texts in which `{{name}}` is replaced, with the most characters each may then have. */
const INTERPOLATED = {
  ...{ subject: 255, body: 10_000, ttsCustomContent: 10_000 },
  ...{ allClearSubject: 255, allClearBody: 10_000 },
} as const;

const checker = compileValidator(notifications.fields);

/** What a sender gave, checked field by field. */
export interface MessageInput {
  /** Inner values of every field that senders may set, defaults included. */
  values: Partial<NotificationRow>;
  given: ReadonlySet<string>;
}

/** Checks a sender's input by itself. Throws CallerError naming every faulty field. */
export function parseMessageInput(input: Readonly<Record<string, unknown>>): MessageInput {
  const { values, faults } = checker.validate(input, "create");
  if (faults.length > 0) throw validationError(faults);
  const given = Object.keys(input).filter((name) => input[name] !== undefined && name in values);
  return { values: values as Partial<NotificationRow>, given: new Set(given) };
}

/**
 * The message as it is sent: the sender's values over the template's, places filled. Throws CallerError for a value
 * that the template keeps to itself (a rule `overrules` that), for a message without subject or recipients, and for
 * texts that grew too long.
 * @source decisions.md 8
 */
export function buildMessage(
  { values, given }: MessageInput,
  template: TemplateRow | null,
  overrules = false,
): Partial<NotificationRow> {
  const message: Record<string, unknown> = { ...values };
  if (template) {
    if (!overrules) rejectLockedFields(values, given, template);
    for (const field of FROM_TEMPLATE) if (!given.has(field)) message[field] = template[field];
  }
  message.priority ??= "normal";
  message.ttsType ??= "none";
  fillPlaceholders(message, values.customVars, overrules);
  const composed = message as Partial<NotificationRow>;
  if (!overrules) requireValidSsml(composed);
  if (!composed.subject) throw requiredValue("subject");
  const named = [...RECIPIENT_FIELDS, "additionalDeviceIds"] as const;
  if (named.every((field) => (composed[field] ?? []).length === 0)) throw noRecipients();
  return composed;
}

function rejectLockedFields(values: Partial<NotificationRow>, given: ReadonlySet<string>, template: TemplateRow): void {
  const faults: FieldError[] = [];
  for (const field of FROM_TEMPLATE) {
    if (!given.has(field) || !CUSTOMIZABLE.has(field)) continue;
    const flag = template[`${field}Customizable` as keyof TemplateRow];
    if (flag !== true && !isEquivalent(values[field], template[field])) {
      const message = `Field ${field} is not valid. The template does not let senders change it.`;
      faults.push({ field, type: "invalid-value", message });
    }
  }
  if (faults.length > 0) throw validationError(faults);
}

/** True for equal values; nothing, an empty text and an empty list are the same, the order of ids is of no meaning. */
function isEquivalent(a: unknown, b: unknown): boolean {
  return isDeepStrictEqual(comparable(a), comparable(b));
}

function comparable(value: unknown): unknown {
  if (value === undefined || value === "") return null;
  if (Array.isArray(value)) return value.length === 0 ? null : [...value].sort();
  return isFile(value) ? value.sha256 : value;
}

function escapeVariables(variables: Variables): Variables {
  return new Map([...variables].map(([name, value]) => [name, escapeMarkup(value)]));
}

/** Refuses marked-up words that can't be spoken. Throws CallerError (`ttsCustomContent`). */
export function requireValidSsml({
  ttsType,
  ttsCustomContent,
}: Partial<Pick<NotificationRow, "ttsType" | "ttsCustomContent">>) {
  if (ttsType === "custom-ssml" && ttsCustomContent) splitSsml(ttsCustomContent, () => false);
}

function isFile(value: unknown): value is StoredFile {
  return typeof value === "object" && value !== null && "sha256" in value && "contentType" in value;
}

function fillPlaceholders(message: Record<string, unknown>, customVars: unknown, cuts: boolean): void {
  const variables = parseVariables(customVars);
  for (const [field, most] of Object.entries(INTERPOLATED)) {
    const text = message[field];
    if (typeof text !== "string") continue;
    const isMarkup = field === "ttsCustomContent" && message.ttsType === "custom-ssml";
    const filled = interpolate(text, isMarkup ? escapeVariables(variables) : variables);
    const tooLong = filled.length > most && [...filled].length > most;
    if (tooLong && !cuts) {
      throw invalidValue("customVars", `They make ${field} longer than ${most} characters.`);
    }
    message[field] = tooLong ? [...filled].slice(0, most).join("") : filled;
  }
}

function noRecipients(): Error {
  const field = RECIPIENT_FIELDS[0];
  const message = `A message needs somebody to go to: at least one of ${RECIPIENT_FIELDS.join(", ")}.`;
  return validationError([{ field, type: "required", message }]);
}
