import { createHash } from "node:crypto";
import type { Email } from "postal-mime";
import { dedupeKeyOf, type TriggerInput } from "#plugin-api";
import type { AuthorizedMail } from "./sender-authorization.ts";

/** What a message is made of; more would not fit. */
const MAX_TEXT = 8_000;

/** The input that a mail to an address is: its source is what stands before the `@`. */
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

/** Answers of machines, which must not start anything. @source RFC 3834 §5; RFC 5321 §4.5.5: notices have no sender */
export function isAutomaticReply(mail: Email, envelopeSender: string): boolean {
  const said = mail.headers.find(({ key }) => key === "auto-submitted")?.value ?? "no";
  return envelopeSender === "" || !/^no\b/i.test(said.trim());
}

/** The text without what mail programs put under it. @source RFC 3676 §4.3 */
function bodyOf({ text, html = "" }: Email): string {
  const lines = (text ?? textOf(html)).replace(/\r\n/g, "\n").split("\n");
  const end = lines.indexOf("-- ");
  return (end < 0 ? lines : lines.slice(0, end)).join("\n").trim();
}

const HTML_ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " " };

/** The words of a mail that has no plain text; shown as text only, so nothing that is left of it can do harm. */
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
