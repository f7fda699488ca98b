import { parsePhoneNumberFromString } from "libphonenumber-js/max";
import { createPhoneNumberReader } from "#plugin-api";
import { sentence } from "./sentences.ts";

/** Which numbers get messages. */
export interface NumberRules {
  /** ISO 3166 code of numbers without a country code; null if not known. */
  country: string | null;
  /** Allowed beginnings, separated by commas; null allows all countries. */
  allowedPrefixes: string | null;
  premiumNumbers: boolean;
}

/** A number to send to, or the reason why none is sent. */
export type Recipient = { number: string } | { reason: string };

/** Numbers of people and of inbound messages. */
export interface RecipientNumbers {
  recipientOf(text: string): Recipient;
  /** Number of an inbound message in its international form; null for names and short codes, which are machines. */
  senderOf(text: string): string | null;
}

/** @source docs/decisions/0752-text-messages.md, Numbers */
export function createRecipientNumbers({ country, allowedPrefixes, premiumNumbers }: NumberRules): RecipientNumbers {
  const read = createPhoneNumberReader(parsePhoneNumberFromString);
  const site = country !== null && /^[A-Z]{2}$/i.test(country) ? country.toUpperCase() : null;
  const prefixes = (allowedPrefixes ?? "")
    .split(",")
    .map(plainPrefix)
    .filter((each) => each !== "");
  return {
    recipientOf(text) {
      const found = read(text, site);
      if (typeof found === "string") return { reason: sentence("identifier-invalid", { problem: found }) };
      const { number, form, isPremium } = found;
      if (isPremium && !premiumNumbers) return { reason: sentence("premium-number", { number }) };
      const isAllowed = form === "short" ? prefixes.includes(number) : prefixes.some((each) => number.startsWith(each));
      if (prefixes.length > 0 && !isAllowed) return { reason: sentence("prefix-not-allowed", { number }) };
      return { number };
    },
    senderOf(text) {
      // Providers write international numbers without their plus, which only a site's country makes ambiguous.
      const isPlain = site !== null && /^\s*[1-9]\d{9,14}\s*$/.test(text);
      const international = isPlain ? read(`+${text.trim()}`, null) : "";
      const found = typeof international === "string" ? read(text, site) : international;
      if (typeof found !== "string") return found.form === "short" ? null : found.number;
      // A number that no country has is answered as it is, since the provider delivered from it.
      const plain = text.replace(/[\s()./-]/g, "");
      return /^\+?\d{7,15}$/.test(plain) ? plain : null;
    },
  };
}

/** `0049 170`, `+49-170` and `+49170` are the same. */
function plainPrefix(prefix: string): string {
  return prefix.replace(/[^\d+]/g, "").replace(/^00/, "+");
}
