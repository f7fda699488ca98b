/** What a mail that came back says. */
export interface BounceReport {
  /** In words, with those of the server that gave it back. */
  reason: string;
  /** There is no such mailbox, and there will be none. */
  isPermanent: boolean;
}

/** Status codes of an address that is none, or is one no more. @source RFC 3463 §3.2, §3.3; RFC 7505 §4.1 */
const GONE = /^5\.(?:1\.(?:1|2|3|6|10)|2\.1)$/;
const MAX_REASON = 300;

/**
 * Reads a notice of a mail that could not be delivered; null for what is none: notices that it takes longer or has arrived,
 * and answers of people and of their machines. `raw` is the mail, one character a byte.
 * @source RFC 3464 §2; RFC 3834 §5
 */
export function parseBounce(raw: string): BounceReport | null {
  const mail = raw.replace(/\r\n/g, "\n");
  const part = deliveryStatusPart(mail);
  if (part !== null) {
    if (headerField(part, "Action").toLowerCase() !== "failed") return null;
    const status = /\d\.\d{1,3}\.\d{1,3}/.exec(headerField(part, "Status"))?.[0] ?? "";
    const said = headerField(part, "Diagnostic-Code").replace(/^\s*smtp\s*;\s*/i, "");
    return { reason: reasonText(said || status), isPermanent: GONE.test(status) };
  }
  const head = mail.slice(0, Math.max(0, mail.indexOf("\n\n")));
  if (/^auto-replied/i.test(headerField(head, "Auto-Submitted"))) return null;
  // Not every server keeps to the form of reports; a notice has no sender whom one could answer.
  const isNotice = /^(?:mailer-daemon|postmaster)@|<(?:mailer-daemon|postmaster)@/i.test(headerField(head, "From"));
  return isNotice ? { reason: reasonText(headerField(head, "Subject")), isPermanent: false } : null;
}

function reasonText(said: string): string {
  const text = said
    .replace(/[^\x20-\x7e]+/g, " ")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, MAX_REASON);
  return text === "" ? "the mail came back" : `the mail came back: ${text}`;
}

/** The machine-readable part of a report, up to the next boundary. */
function deliveryStatusPart(mail: string): string | null {
  const at = mail.search(/^content-type:\s*message\/(?:global-)?delivery-status/im);
  if (at < 0) return null;
  return mail.slice(at).split(/\n--/, 1)[0] ?? "";
}

/** The first field of this name, unfolded; empty when there is none. */
function headerField(text: string, name: string): string {
  const found = new RegExp(`^${name}:[ \\t]*((?:.|\\n[ \\t]+)*)`, "im").exec(text);
  return (found?.[1] ?? "").replace(/\n[ \t]+/g, " ").trim();
}
