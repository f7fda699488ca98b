import { type Sentence, sentence } from "../lib/sentences/sentences.ts";
import { readPhoneNumber } from "./phone-numbers.ts";

/** Which telephone numbers users and campaigns may add. */
export interface PhoneNumberPolicy {
  /** ISO 3166 code of the site; null if not configured. */
  country: string | null;
  /** Beginnings of allowed numbers, such as `+49`; null: numbers of the site's country. */
  allowedPrefixes: readonly string[] | null;
}

/**
 * Why a number that a user or visitor entered must not be used: sending to it may cost the organisation much and bring the
 * one who entered it money. Null if it may be.
 * @source docs/decisions/0765-proof-of-own-addresses.md, Numbers
 */
export function phoneNumberProblem(text: string, { country, allowedPrefixes }: PhoneNumberPolicy): Sentence | null {
  const read = readPhoneNumber(text, country);
  if (typeof read === "string") return sentence("field.must-be-a-telephone-number-such-as-49-30-123456");
  if (read.form === "short" || read.isPremium) return sentence("field.must-not-be-a-premium-rate-number-or-short-code");
  if (allowedPrefixes !== null) {
    if (allowedPrefixes.some((prefix) => read.number.startsWith(prefix))) return null;
    return sentence("field.must-be-a-number-that-begins-with-prefixes", { prefixes: allowedPrefixes.join(", ") });
  }
  // Without a country code where no country is configured: nothing is known of it.
  if (read.form === "local") return null;
  if (read.country === null) return sentence("field.must-be-a-number-of-a-country");
  if (country !== null && read.country !== country)
    return sentence("field.must-be-a-number-of-the-country", { country });
  return null;
}
