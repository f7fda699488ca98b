import type { SentenceReference } from "../../lib/sentences/reference.ts";
import type { SentenceReader } from "../../lib/sentences/registry.ts";
import type { SentenceLanguage, SentenceOrWords } from "../../lib/sentences/sentences.ts";
import type { NotificationSource } from "../../resources/notifications/notification-sources.ts";
import type { NotificationRow } from "./message-builder.ts";
import { QUEUED_FAILURE } from "./sending-profile.ts";

/** Sources of messages about alarms. */
const ALARM_SOURCES: ReadonlySet<NotificationSource> = new Set([
  "alarm",
  "onprem-server-red",
  "onprem-server-yellow",
  "license-violation",
  "phone-cache-update-failed",
  "sis-loader-failed",
  "speakers-unregistered",
  "onprem-delta-sync-error-event",
  "token-expiration",
]);

type Written = Pick<
  NotificationRow,
  "notificationSource" | "initiatorId" | "initiationSourceType" | "alertTone" | "followUpForNotificationId"
> &
  Pick<NotificationRow, "subject" | "body">;

/**
 * Whether the server may have written the texts: of alarms, of messages that waited too long, and subjects of all-clears
 * without a text. Words of people are never translated. @source docs/decisions/0473-language-of-recipients.md
 */
function isServerWritten(row: Omit<Written, "subject" | "body">): boolean {
  if (row.initiatorId === null && ALARM_SOURCES.has(row.notificationSource as NotificationSource)) return true;
  if (row.initiationSourceType === QUEUED_FAILURE) return true;
  return row.followUpForNotificationId !== null && (row.alertTone ?? "").startsWith("all-clear");
}

/** Subject and lines of the body by code; null for words of people. */
export function readServerText(
  row: Written,
  sentences: SentenceReader,
): { subjectSentence: SentenceReference | null; bodySentences: SentenceOrWords[] | null } {
  if (!isServerWritten(row)) return { subjectSentence: null, bodySentences: null };
  return {
    subjectSentence: sentences.read(row.subject ?? ""),
    bodySentences: row.body ? sentences.readAll(row.body.split("\n")) : [],
  };
}

/** The texts of a message in the language of a recipient: what the server wrote is translated, within a template as well. */
export function translateServerText<T extends Written & Pick<NotificationRow, "customVars">>(
  row: T,
  sentences: Pick<SentenceReader, "translate">,
  language: SentenceLanguage,
): T {
  if (language === "en" || !isServerWritten(row)) return row;
  const values = sentencesOfVariables(row.customVars);
  const translateLine = (line: string): string => {
    const whole = sentences.translate(line, language);
    if (whole !== line) return whole;
    return values.reduce((found, value) => found.replaceAll(value, sentences.translate(value, language)), line);
  };
  const translate = (text: string | null): string | null =>
    text === null ? null : text.split("\n").map(translateLine).join("\n");
  return { ...row, subject: translate(row.subject), body: translate(row.body) };
}

/** What the server filled in for the placeholders of a template, line by line, the longest first. */
function sentencesOfVariables(customVars: unknown): string[] {
  const { alarm, reasons } = (customVars ?? {}) as { alarm?: unknown; reasons?: unknown };
  return [alarm, reasons]
    .flatMap((value) => (typeof value === "string" ? value.split("\n") : []))
    .filter((value) => value !== "")
    .sort((a, b) => b.length - a.length);
}
