import { createHash } from "node:crypto";
import type { Email } from "postal-mime";
import { dedupeKeyOf, type TriggerInput } from "#plugin-api";
import type { AuthorizedMail } from "./sender-authorization.ts";

/** Maximum length of the text passed to messages. */
const MAX_TEXT = 8_000;

/** Trigger input of a mail; the source is the local part of the recipient. */
export function mailInput(mail: Email, { from, name, subject }: AuthorizedMail, to: string): TriggerInput {
  const source = to.slice(0, to.lastIndexOf("@")).toLowerCase();
  const body = bodyOf(mail).slice(0, MAX_TEXT);
  const id = mail.messageId ?? createHash("sha256").update(`${mail.date}\n${from}\n${subject}\n${body}`).digest("hex");
  return {
    source,
    dedupeKey: dedupeKeyOf(source, `${from} ${id}`),
    values: { state: "mail", from, fromName: name, subject, body },
  };
}

/**
 * True for automatic replies and bounces, which must not start anything.
 * @source RFC 3834 §5; RFC 5321 §4.5.5: bounces have no sender
 */
export function isAutomaticReply(mail: Email, envelopeSender: string): boolean {
  const autoSubmitted = mail.headers.find(({ key }) => key === "auto-submitted")?.value ?? "no";
  return envelopeSender === "" || !/^no\b/i.test(autoSubmitted.trim());
}

/** The text without its signature. @source RFC 3676 §4.3 */
function bodyOf({ text, html = "" }: Email): string {
  const lines = (text ?? textOf(html)).replace(/\r\n/g, "\n").split("\n");
  const end = lines.indexOf("-- ");
  return (end < 0 ? lines : lines.slice(0, end)).join("\n").trim();
}

const HTML_ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** Text of an HTML mail. It is shown as text only, so leftover markup is harmless. */
function textOf(html: string): string {
  return html
    .replace(/<(script|style|head|title)\b[\s\S]*?<\/\1>/gi, "")
    .replace(/\s+/g, " ")
    .replace(/<(br|\/p|\/div|\/h\d|\/li|\/tr)\b[^>]*>\s*/gi, "\n")
    .replace(/<[^>]*>/g, "")
    .replace(/&(?:#(\d{1,7})|(\w+));/g, (sign, code?: string, name?: string) =>
      code === undefined ? (HTML_ENTITIES[name ?? ""] ?? sign) : codePointToText(Number(code)),
    );
}

function codePointToText(code: number): string {
  return code > 0x10_ff_ff ? "" : String.fromCodePoint(code);
}
