import { automaticKind } from "../mail-input/automatic-mail.ts";
import { sentence } from "./sentences.ts";

/** A parsed bounce. */
export interface BounceReport {
  /** Reason including the server's text. */
  reason: string;
  /** The mailbox does not exist. */
  isPermanent: boolean;
}

/** Status codes of invalid or closed mailboxes. @source RFC 3463 §3.2, §3.3; RFC 7505 §4.1 */
const GONE = /^5\.(?:1\.(?:1|2|3|6|10)|2\.1)$/;
const MAX_REASON = 300;

/**
 * Parses a bounce; null for other mails: delay and success notices, replies and automatic replies. `raw` is the mail in
 * Latin-1.
 * @source RFC 3464 §2; RFC 3834 §5
 */
export function parseBounce(raw: string): BounceReport | null {
  const mail = raw.replace(/\r\n/g, "\n");
  const part = deliveryStatusPart(mail);
  if (part !== null) return failedRecipient(part);
  const head = mail.slice(0, Math.max(0, mail.indexOf("\n\n")));
  const fields = (name: string): string[] => [headerField(head, name)].filter((value) => value !== "");
  // Some servers send bounces without a delivery status part, marked as if they were automatic replies.
  const failed = headerField(head, "X-Failed-Recipients") !== "";
  const isNotice = /^(?:mailer-daemon|postmaster)@|<(?:mailer-daemon|postmaster)@/i.test(headerField(head, "From"));
  const subject = headerField(head, "Subject");
  if (DELAY_SUBJECT.test(subject)) return null;
  if (!failed && (!isNotice || (automaticKind(fields) !== null && !FAILURE_SUBJECT.test(subject)))) return null;
  return { reason: reasonText(subject), isPermanent: false };
}

/** Subjects of notices without a delivery status part. */
const DELAY_SUBJECT =
  /\bdelay(?:ed)?\b|\bwarning\b.{0,40}\b(?:could not|not yet|still)\b|\bstill (?:being )?(?:trying|retr)|\bnot yet\b|verz(?:ö|=f6|oe)gert/i;
const FAILURE_SUBJECT =
  /undeliver|fail(?:ed|ure)|returned|rejected|delivery (?:status )?notification|non.?remis|unzustellbar|not be delivered/i;

/** The first group of a recipient that failed; null if the report is about a delay, a relay or a success. */
function failedRecipient(part: string): BounceReport | null {
  const group = part.split(/\n\s*\n/).find((each) => /^failed\b/i.test(headerField(each, "Action")));
  if (group === undefined) return null;
  const status = /\d\.\d{1,3}\.\d{1,3}/.exec(headerField(group, "Status"))?.[0] ?? "";
  const text = headerField(group, "Diagnostic-Code").replace(/^\s*(?:smtp|x-[\w-]+)\s*;\s*/i, "");
  return { reason: reasonText(text || status), isPermanent: GONE.test(status) };
}

function reasonText(detail: string): string {
  const text = detail
    .replace(/[^\x20-\x7e]+/g, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, MAX_REASON);
  return text === "" ? sentence("bounced") : sentence("bounced-because", { detail: text });
}

/** The delivery status part of a report, decoded; fields of a quoted mail are not looked at. */
function deliveryStatusPart(mail: string): string | null {
  const at = mail.search(/^content-type:\s*message\/(?:global-)?delivery-status/im);
  if (at < 0) return null;
  const from = mail.slice(at);
  const bodyAt = from.indexOf("\n\n");
  if (bodyAt < 0) return from;
  const encoding = headerField(from.slice(0, bodyAt), "Content-Transfer-Encoding").toLowerCase();
  const body = from.slice(bodyAt + 2).split(/\n--/, 1)[0] ?? "";
  if (encoding === "base64") return Buffer.from(body, "base64").toString("latin1").replace(/\r\n/g, "\n");
  if (encoding !== "quoted-printable") return body;
  return body
    .replace(/=\n/g, "")
    .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

/** First header field of this name, unfolded; empty if missing. */
function headerField(text: string, name: string): string {
  const found = new RegExp(`^${name}:[ \\t]*((?:.|\\n[ \\t]+)*)`, "im").exec(text);
  return (found?.[1] ?? "").replace(/\n[ \t]+/g, " ").trim();
}
