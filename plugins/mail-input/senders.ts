import { createHash, timingSafeEqual } from "node:crypto";
import { addressParser, type Email } from "postal-mime";

/** Who may start messages, and by what they are known. */
export interface SenderRules {
  /** Addresses, and domains as `@example.org`, in small letters. */
  senders: readonly string[];
  token: string;
  /** Whose `Authentication-Results` count; null asks for none. */
  authenticationServer: string | null;
}

/** A mail that may start something: its sender, and its subject without the token. */
export interface Admitted {
  from: string;
  name: string;
  subject: string;
}

/** Says who sent a mail, or in words why it is refused. */
export function admit(mail: Email, { senders, token, authenticationServer }: SenderRules): Admitted | string {
  const named = mail.headers.filter(({ key }) => key === "from").flatMap(({ value }) => addressParser(value));
  const from = mail.from?.address?.toLowerCase();
  // Of two senders a mail server and we might each believe another one.
  if (named.length !== 1 || !from) return "the mail does not have one sender";
  const domain = from.slice(from.lastIndexOf("@"));
  if (!senders.includes(from) && !senders.includes(domain)) return "the sender is not among those who may";
  const words = (mail.subject ?? "").split(/\s+/);
  const others = words.filter((word) => !isSame(word.replace(/^[[(]|[\])]$/g, ""), token));
  if (others.length === words.length) return "the subject does not hold the token";
  if (authenticationServer !== null && !isProven(mail, domain.slice(1), authenticationServer))
    return "the mail server has not proven the sender";
  return { from, name: mail.from?.name ?? "", subject: others.join(" ").trim() };
}

/** @source RFC 8601 §2.2: the relay's own field stands above all others, which anybody may have written */
function isProven(mail: Email, domain: string, server: string): boolean {
  const [top] = mail.headers.filter(({ key }) => key === "authentication-results");
  const [id = "", ...results] = (top?.value ?? "").replace(/\([^)]*\)/g, "").split(";");
  if (id.trim().split(/\s+/)[0]?.toLowerCase() !== server.toLowerCase()) return false;
  return results.some((result) => {
    const parts = result.trim().toLowerCase().split(/\s+/);
    if (parts[0] === "dmarc=pass") return parts.includes(`header.from=${domain}`);
    return parts[0] === "dkim=pass" && parts.includes(`header.d=${domain}`);
  });
}

function isSame(given: string, expected: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(given), hash(expected));
}
