import { createHash, timingSafeEqual } from "node:crypto";
import { addressParser, type Email } from "postal-mime";
import { parseAuthenticationResults } from "./authentication-results.ts";

/** Who may start messages, and by what they are known. */
export interface SenderRules {
  /** Addresses, and domains as `@example.org`, in small letters. */
  senders: readonly string[];
  token: string;
  /** Whose `Authentication-Results` count; null asks for none. */
  authenticationServer: string | null;
}

/** A mail that may start something: its sender, and its subject without the token. */
export interface AuthorizedMail {
  from: string;
  name: string;
  subject: string;
}

/** How far a mail's date may be from now. own choice: longer than servers try again what is urgent */
const MAX_AGE_MS = 3_600_000;

/** Says who sent a mail, or in words why it is refused; `now` is epoch ms. */
export function authorizeSender(mail: Email, rules: SenderRules, now: number): AuthorizedMail | string {
  const { senders, token, authenticationServer } = rules;
  const named = mail.headers.filter(({ key }) => key === "from").flatMap(({ value }) => addressParser(value));
  const from = mail.from?.address?.toLowerCase();
  // Of two senders a mail server and we might each believe another one.
  if (named.length !== 1 || !from) return "the mail does not have one sender";
  const domain = from.slice(from.lastIndexOf("@"));
  if (!senders.includes(from) && !senders.includes(domain)) return "the sender is not among those who may";
  const words = (mail.subject ?? "").split(/\s+/);
  const others = words.filter((word) => !isEqualSecret(word.replace(/^[[(]|[\])]$/g, ""), token));
  if (others.length === words.length) return "the subject does not hold the token";
  if (authenticationServer !== null && !isSenderAuthenticated(mail, domain.slice(1), authenticationServer))
    return "the mail server has not proven the sender";
  if (!isRecent(mail, now)) return "the mail does not say that it is of this hour";
  return { from, name: mail.from?.name ?? "", subject: others.join(" ").trim() };
}

/** @source RFC 8601 §5: the relay's own field stands above all others, which anybody may have written */
function isSenderAuthenticated(mail: Email, domain: string, server: string): boolean {
  const [top] = mail.headers.filter(({ key }) => key === "authentication-results");
  const read = parseAuthenticationResults(top?.value ?? "");
  if (read?.server !== server.toLowerCase()) return false;
  return read.results.some(({ method, result, properties }) => {
    const proven = properties.get(method === "dmarc" ? "header.from" : "header.d") ?? [];
    const counts = (method === "dmarc" || method === "dkim") && result === "pass";
    return counts && proven.length > 0 && proven.every((each) => each === domain);
  });
}

/** Old mails that somebody has kept must not start anything once their Message-ID is forgotten. */
function isRecent({ date }: Email, now: number): boolean {
  return Math.abs(now - Date.parse(date ?? "")) <= MAX_AGE_MS;
}

function isEqualSecret(given: string, expected: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(given), hash(expected));
}
