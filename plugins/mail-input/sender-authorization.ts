import { createHash, timingSafeEqual } from "node:crypto";
import { parseAuthenticationResults } from "./authentication-results.ts";
import type { ParsedMail } from "./parsed-mail.ts";

/** Rules for authorized senders. */
export interface SenderRules {
  /** Addresses, and domains as `@example.org`, lower case. */
  senders: readonly string[];
  token: string;
  /** Server whose `Authentication-Results` count; null to require none. */
  authenticationServer: string | null;
}

/** An authorized mail: its sender, and its subject without the token. */
export interface AuthorizedMail {
  from: string;
  name: string;
  subject: string;
}

/** Allowed deviation of a mail's date; longer than servers retry urgent mail. */
const MAX_AGE_MS = 3_600_000;

/** Authorizes a mail, or returns the reason for refusing it; `now` is epoch ms. */
export function authorizeSender(mail: ParsedMail, rules: SenderRules, now: number): AuthorizedMail | string {
  const { senders, token, authenticationServer } = rules;
  const [from, ...others] = mail.from;
  // With two senders, the mail server may have authenticated the other one.
  if (!from || others.length > 0) return "the mail must have exactly one sender";
  const domain = from.slice(from.lastIndexOf("@"));
  if (!senders.includes(from) && !senders.includes(domain)) return "sender not allowed";
  const words = mail.subject.split(/\s+/);
  const rest = words.filter((word) => !isEqualSecret(word.replace(/^[[(]|[\])]$/g, ""), token));
  if (rest.length === words.length) return "the subject must contain the token";
  if (authenticationServer !== null && !isSenderAuthenticated(mail, domain.slice(1), authenticationServer))
    return "the sender is not authenticated by the mail server";
  if (!isRecent(mail, now)) return "the date of the mail must be within an hour from now";
  return { from, name: mail.fromName, subject: rest.join(" ").trim() };
}

/** Only the topmost field is the relay's; others may be forged. @source RFC 8601 §5 */
function isSenderAuthenticated(mail: ParsedMail, domain: string, server: string): boolean {
  const [top] = mail.headers.filter(({ key }) => key === "authentication-results");
  const read = parseAuthenticationResults(top?.value ?? "");
  if (read?.server !== server.toLowerCase()) return false;
  return read.results.some(({ method, result, properties }) => {
    const proven = properties.get(method === "dmarc" ? "header.from" : "header.d") ?? [];
    const counts = (method === "dmarc" || method === "dkim") && result === "pass";
    return counts && proven.length > 0 && proven.every((each) => each === domain);
  });
}

/** Rejects replayed mails after their Message-ID was forgotten. */
function isRecent({ date }: ParsedMail, now: number): boolean {
  return Math.abs(now - Date.parse(date)) <= MAX_AGE_MS;
}

function isEqualSecret(given: string, expected: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(given), hash(expected));
}
