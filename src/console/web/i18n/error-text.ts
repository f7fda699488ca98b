import { CallerError, type ErrorReason, type ErrorType, type FieldError, UpstreamError } from "../../../lib/errors.ts";
import type { SentenceReference } from "../../../lib/sentences/reference.ts";
import type { Translator } from "./translator.ts";

/** What went wrong and what to do, in words; the API's own sentence where it says more. */
export function errorText(error: unknown, translator: Translator): string {
  const { t, name } = translator;
  if (error instanceof UpstreamError)
    return t(error.type === "outcome-unknown" ? "error.maybe-sent" : "error.unreachable");
  if (!(error instanceof CallerError)) return t("error.internal");
  const right = error.context.right;
  if (isForbidden(error) && typeof right === "string") return t("error.lacking", { right });
  if (isSentAlready(error)) return t("error.sent-already");
  const faults = error.faults.filter(({ field }) => field !== null);
  if (faults.length > 0) {
    return faults.map((fault) => fieldErrorMessage(fault.field ?? "", fault, translator)).join(" ");
  }
  const sentence = sentenceOf(error);
  if (sentence !== undefined && EXPLAINED_TYPES.has(error.type)) return translator.say(error.message, sentence);
  const known = name("error", error.type);
  return known === error.type ? error.message || t("error.internal") : known;
}

/** Types whose sentence says more than the words for all errors of the type. */
const EXPLAINED_TYPES: ReadonlySet<ErrorType> = new Set([
  ...(["conflict", "invalid-value", "limit-exceeded", "too-large", "upstream"] as const),
]);

/** The message of an error without a field as a sentence of the catalogue. */
function sentenceOf({ context, faults }: CallerError): SentenceReference | undefined {
  return (context.sentence as SentenceReference | undefined) ?? faults.find(({ field }) => field === null)?.sentence;
}

/** Whether somebody lacks a right, so that trying again is of no use. */
export function isForbidden(error: unknown): boolean {
  return error instanceof CallerError && error.type === "forbidden";
}

/** Whether an all-clear was refused because it has been sent: asked once more, it goes with `again`. */
export function isSentAlready(error: unknown): boolean {
  return (
    error instanceof CallerError && error.type === "conflict" && error.faults.some(({ field }) => field === "again")
  );
}

/** The words for one field, or null when it is not at fault. */
export function fieldErrorText(error: unknown, field: string, translator: Translator, label?: string): string | null {
  if (!(error instanceof CallerError)) return null;
  // A form may hold the inner fields of one field of the row: `config.host` is its `host`.
  const fault = error.faults.find((each) => each.field === field || each.field?.endsWith(`.${field}`));
  return fault ? fieldErrorMessage(field, fault, translator, label) : null;
}

function fieldErrorMessage(
  field: string,
  { type, message, reason, sentence }: FieldError,
  translator: Translator,
  given?: string,
): string {
  const { t, name } = translator;
  // The API names the first of the five fields that may say who gets a message.
  if (type === "required" && field === "distributionListIds") return t("error.no-recipients");
  const label = given ?? name("field", field.slice(field.lastIndexOf(".") + 1));
  const explanation = reason ? reasonText(reason, translator) : null;
  if (explanation !== null) return explanation;
  if (type === "required")
    return sentence && given === undefined ? translator.say(message, sentence) : t("error.field-required", { label });
  // The API says after its first sentence what it expects; that part is worth more than any general word.
  const detail = /^Field \S+ is not valid\.\s*(.*)$/s.exec(message)?.[1] ?? message;
  return `${t("error.field-invalid", { label })} ${translator.say(detail, sentence)}`.trim();
}

/** The sentence for a reason of the API; null for a code that the catalogue lacks. */
function reasonText({ code, params }: ErrorReason, { name, language }: Translator): string | null {
  const list = new Intl.ListFormat(language);
  const values = Object.entries(params).map(([key, value]): [string, string | number] => [
    key,
    typeof value === "string" || typeof value === "number"
      ? value
      : list.format(value.map((part) => name("password-part", part))),
  ]);
  const text = name("reason", code, Object.fromEntries(values));
  return text === code ? null : text;
}
