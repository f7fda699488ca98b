import { isDeepStrictEqual } from "node:util";
import { type FieldError, invalidValue, requiredValue, validationError } from "../../lib/errors.ts";
import { interpolateAll, parseVariables, type Variables } from "../../lib/interpolation.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type messageTemplates from "../../resources/messages/message-templates.ts";
import { CUSTOMIZABLE_FIELDS } from "../../resources/messages/template-customization.ts";
import notifications from "../../resources/notifications/notifications.ts";
import type { StoredFile } from "../../schema/field.ts";
import type { RowOf } from "../../schema/resource.ts";
import { compileValidator } from "../../schema/validator.ts";
import { escapeMarkup, splitSsml } from "./ssml.ts";

export type NotificationRow = RowOf<typeof notifications>;
export type TemplateRow = RowOf<typeof messageTemplates>;

/** Fields that a message takes from its template unless the sender gives them. */
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

/** Fields with a customization flag in the template. The others may always be given, since no flag can forbid them. */
const CUSTOMIZABLE: ReadonlySet<string> = new Set([...CUSTOMIZABLE_FIELDS, "metadata"]);

/** Recipient fields; at least one of them must not be empty. */
export const RECIPIENT_FIELDS = [
  "distributionListIds",
  "userIds",
  "deviceGroupIds",
  "areaOfInterestIds",
  "collaborationGroupIds",
] as const;

/** Texts in which `{{name}}` is replaced, with their maximum length after that. */
const INTERPOLATED = {
  ...{ subject: 255, body: 10_000, ttsCustomContent: 10_000 },
  ...{ allClearSubject: 255, allClearBody: 10_000 },
} as const;

const checker = compileValidator(notifications.fields);

/** The validated input of a sender. */
export interface MessageInput {
  /** Internal values of every field that senders may set, defaults included. */
  values: Partial<NotificationRow>;
  given: ReadonlySet<string>;
}

/** Validates a sender's input on its own. Throws CallerError naming every invalid field. */
export function parseMessageInput(input: Readonly<Record<string, unknown>>): MessageInput {
  const { values, faults } = checker.validate(input, "create");
  if (faults.length > 0) throw validationError(faults);
  const given = Object.keys(input).filter((name) => input[name] !== undefined && name in values);
  return { values: values as Partial<NotificationRow>, given: new Set(given) };
}

/** Stored names of unfilled variables; the log of a mistake need not be complete. */
const MAX_UNFILLED = 50;

/**
 * The message to send: the sender's values over the template's, placeholders filled. Throws CallerError for a value
 * that the template does not let senders change (unless `overrules`), for a message without subject or recipients, for
 * texts that became too long, and for variables without value if the template says so.
 * @source docs/decisions/0008-notifications-and-templates.md; docs/decisions/0417-unfilled-variables.md
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
  const unfilled = fillPlaceholders(message, values.customVars, overrules);
  if (template?.unfilledVariablesPolicy === "refuse" && !overrules && !values.draft) refuseUnfilled(unfilled);
  message.unfilledVariables = unfilled.slice(0, MAX_UNFILLED);
  // A message without subject could not be sent: the name of the template says what it is about.
  if (unfilled.length > 0 && String(message.subject).trim() === "")
    message.subject = template?.name ?? unfilled.join(" ").slice(0, 255);
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
      const message = `Field ${field} is not valid. ${sentence("field.the-template-does-not-allow-senders-to-change-it")}`;
      faults.push({ field, type: "invalid-value", message });
    }
  }
  if (faults.length > 0) throw validationError(faults);
}

/** True for equal values; null, an empty text and an empty list are the same; the order of ids does not matter. */
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

/** Rejects SSML that cannot be spoken. Throws CallerError (`ttsCustomContent`). */
export function requireValidSsml({
  ttsType,
  ttsCustomContent,
}: Partial<Pick<NotificationRow, "ttsType" | "ttsCustomContent">>) {
  if (ttsType === "custom-ssml" && ttsCustomContent) splitSsml(ttsCustomContent, () => false);
}

function isFile(value: unknown): value is StoredFile {
  return typeof value === "object" && value !== null && "sha256" in value && "contentType" in value;
}

function refuseUnfilled(names: readonly string[]): void {
  if (names.length === 0) return;
  const faults = names.slice(0, MAX_UNFILLED).map((name): FieldError => {
    const field = `customVars.${name}`;
    return {
      field,
      type: "required",
      message: sentence("error.field-field-is-required-the-template-uses-it-in-a-text", { field }),
    };
  });
  throw validationError(faults);
}

/** Returns the names of variables without value, whose placeholders are removed. */
function fillPlaceholders(message: Record<string, unknown>, customVars: unknown, cuts: boolean): string[] {
  const variables = parseVariables(customVars);
  const unfilled = new Set<string>();
  for (const [field, most] of Object.entries(INTERPOLATED)) {
    const text = message[field];
    if (typeof text !== "string") continue;
    const isMarkup = field === "ttsCustomContent" && message.ttsType === "custom-ssml";
    const filled = interpolateAll(text, isMarkup ? escapeVariables(variables) : variables, unfilled);
    const tooLong = filled.length > most && [...filled].length > most;
    if (tooLong && !cuts) {
      throw invalidValue(
        "customVars",
        sentence("field.the-values-make-field-longer-than-most-characters", { field, most }),
      );
    }
    message[field] = tooLong ? [...filled].slice(0, most).join("") : filled;
  }
  return [...unfilled];
}

function noRecipients(): Error {
  const field = RECIPIENT_FIELDS[0];
  const message = sentence("error.a-message-must-have-recipients-at-least-one-of-fields", {
    fields: RECIPIENT_FIELDS.join(", "),
  });
  return validationError([{ field, type: "required", message }]);
}
