import { createHash } from "node:crypto";
import { dedupeKeyOf, type TriggerInput } from "#plugin-api";
import { automaticKind } from "./automatic-mail.ts";
import { localPart } from "./known-recipients.ts";
import type { ParsedMail } from "./parsed-mail.ts";
import type { AuthorizedMail } from "./sender-authorization.ts";

/** Maximum length of the text passed to messages. */
const MAX_TEXT = 8_000;

/** Trigger input of a mail; the source is the local part of the recipient. */
export function mailInput(mail: ParsedMail, { from, name, subject }: AuthorizedMail, to: string): TriggerInput {
  const source = localPart(to);
  const body = bodyOf(mail).slice(0, MAX_TEXT);
  const id = mail.messageId ?? createHash("sha256").update(`${mail.date}\n${from}\n${subject}\n${body}`).digest("hex");
  return {
    source,
    dedupeKey: dedupeKeyOf(source, `${from} ${id}`),
    values: { state: "mail", from, fromName: name, subject, body },
  };
}

/**
 * True for automatic replies, bulk mail, delay notices and bounces, which must not start anything.
 * @source RFC 3834 §5; RFC 3464 §2; RFC 5321 §4.5.5: reports have no sender
 */
export function isAutomaticMail({ headers, subject }: ParsedMail, envelopeSender: string): boolean {
  const fields = (name: string): string[] =>
    name === "subject" ? [subject] : headers.filter(({ key }) => key === name).map(({ value }) => value);
  const isReport = fields("content-type").some((value) => /^\s*multipart\/report\b/i.test(value));
  return envelopeSender === "" || isReport || automaticKind(fields) !== null;
}

/** The text without its signature. @source RFC 3676 §4.3 */
function bodyOf({ text }: ParsedMail): string {
  const lines = text.replace(/\r\n/g, "\n").split("\n");
  const end = lines.indexOf("-- ");
  return (end < 0 ? lines : lines.slice(0, end)).join("\n").trim();
}
