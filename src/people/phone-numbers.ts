import { parsePhoneNumberFromString } from "libphonenumber-js/max";
import { invalidValue } from "../lib/errors.ts";
import { createPhoneNumberReader } from "../lib/phone-numbers.ts";
import { sentence } from "../lib/sentences/sentences.ts";

export const readPhoneNumber = createPhoneNumberReader(parsePhoneNumberFromString);

/**
 * Normalizes a telephone number. Numbers that no country has are accepted as digits, since they may be local ones.
 * `country`: ISO 3166 code of national numbers; null if unknown. Throws invalid-value.
 */
export function parsePhoneNumber(text: string, field = "from", country: string | null = null): string {
  const read = readPhoneNumber(text, country);
  if (typeof read !== "string") return read.number;
  const phone = text.replace(/[\s()./-]/g, "");
  if (!/^\+?\d{3,15}$/.test(phone))
    throw invalidValue(field, sentence("field.must-be-a-telephone-number-such-as-49-30-123456"));
  return phone;
}

/** True if two spellings mean one number; a national one is of `country`, or else of the other number's country. */
export function isSamePhoneNumber(stored: string, number: string, country: string | null): boolean {
  const digits = (text: string): string => text.replace(/\D/g, "");
  if (digits(stored) === digits(number)) return true;
  // Providers write international numbers without their plus.
  const isPlain = /^[1-9]\d{9,14}$/.test(number);
  const sought = readPhoneNumber(isPlain ? `+${number}` : number, country);
  if (typeof sought === "string") return false;
  const found = readPhoneNumber(stored, country ?? sought.country);
  return typeof found !== "string" && found.number === sought.number;
}
