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
 * Parses a bounce; null for other mails: delay and success notices, replies and auto-replies. `raw` is the mail in
 * Latin-1.
 * @source RFC 3464 §2; RFC 3834 §5
 */
export function parseBounce(raw: string): BounceReport | null {
  const mail = raw.replace(/\r\n/g, "\n");
  const part = deliveryStatusPart(mail);
  if (part !== null) {
    if (headerField(part, "Action").toLowerCase() !== "failed") return null;
    const status = /\d\.\d{1,3}\.\d{1,3}/.exec(headerField(part, "Status"))?.[0] ?? "";
    const text = headerField(part, "Diagnostic-Code").replace(/^\s*smtp\s*;\s*/i, "");
    return { reason: reasonText(text || status), isPermanent: GONE.test(status) };
  }
  const head = mail.slice(0, Math.max(0, mail.indexOf("\n\n")));
  if (/^auto-replied/i.test(headerField(head, "Auto-Submitted"))) return null;
  // Some servers send bounces without a delivery status part.
  const isNotice = /^(?:mailer-daemon|postmaster)@|<(?:mailer-daemon|postmaster)@/i.test(headerField(head, "From"));
  return isNotice ? { reason: reasonText(headerField(head, "Subject")), isPermanent: false } : null;
}

function reasonText(detail: string): string {
  const text = detail
    .replace(/[^\x20-\x7e]+/g, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, MAX_REASON);
  return text === "" ? "the mail bounced" : `the mail bounced: ${text}`;
}

/** The delivery status part of a report. */
function deliveryStatusPart(mail: string): string | null {
  const at = mail.search(/^content-type:\s*message\/(?:global-)?delivery-status/im);
  if (at < 0) return null;
  return mail.slice(at).split(/\n--/, 1)[0] ?? "";
}

/** First header field of this name, unfolded; empty if missing. */
function headerField(text: string, name: string): string {
  const found = new RegExp(`^${name}:[ \\t]*((?:.|\\n[ \\t]+)*)`, "im").exec(text);
  return (found?.[1] ?? "").replace(/\n[ \t]+/g, " ").trim();
}
