/** A number as it is dialled and compared. */
export interface PhoneNumber {
  /** `+` and digits (E.164); digits only for short codes, and for numbers whose country is not known. */
  number: string;
  /** `local`: a number without a country code where no country is configured. */
  form: "international" | "short" | "local";
  /** ISO 3166 code; null if unknown or not of a country, such as satellite numbers. */
  country: string | null;
  isPremium: boolean;
}

/** The parts of libphonenumber in use, with metadata of all types of numbers. */
export type PhoneNumberLibrary = (
  text: string,
  options: { defaultCountry?: never; extract: false },
) =>
  | {
      number: string;
      country?: string;
      countryCallingCode: string;
      nationalNumber: string;
      isPossible(): boolean;
      isValid(): boolean;
      getType(): string | undefined;
    }
  | undefined;

/** Reads a number in any usual spelling; a text says why it cannot be one. `country`: ISO 3166 code of the site. */
export type PhoneNumberReader = (text: string, country: string | null) => PhoneNumber | string;

/** Longer texts are no numbers. */
const MAX_LENGTH = 60;
const SHORT_CODE = /^\d{3,6}$/;
const LOCAL = /^\d{7,15}$/;
const EXTENSION = /[ ,;]*(?:\bext(?:ension)?\b\.?|\bx|#|;ext=|\bapp?\.|\bDW\b|\bNst\b\.?)\s*[:.]?\s*\d{1,8}$/i;

/**
 * Creates a reader over libphonenumber; the library is passed in, since the core and plugins each load their own copy.
 * Reads `(0)`, blanks, dashes, extensions (which get no text messages and are left out), national numbers and the
 * international prefix 00. Short codes stay as they are.
 * @source ITU-T E.123, E.164
 */
export function createPhoneNumberReader(parse: PhoneNumberLibrary): PhoneNumberReader {
  const parsed = (text: string, country: string | null) =>
    parse(text, { extract: false, ...(country !== null && { defaultCountry: country as never }) });

  return (text, country) => {
    const given = text
      .normalize("NFKC")
      .replace(/\p{Cf}/gu, "")
      .trim()
      .replace(/^(?:tel|sms|smsto|phone):\s*/i, "");
    if (given.length > MAX_LENGTH) return "is too long for a telephone number";
    const plain = given.replace(EXTENSION, "");
    if (/\p{L}/u.test(plain)) return "must be a telephone number";
    const compact = plain.replace(/[\s\p{Pd}./()]/gu, "");
    if (SHORT_CODE.test(compact)) return { number: compact, form: "short", country: null, isPremium: false };
    const dialled = plain
      .replace(/\(\s*0\s*\)/, /^\s*(?:\+|00)/.test(plain) ? " " : "0")
      .replace(/^\s*00(?=[\s(]*[1-9])/, "+");
    const isInternational = dialled.trim().startsWith("+");
    if (!isInternational && country === null) {
      if (!LOCAL.test(compact)) return "must be a telephone number with its country code, such as +49 30 123456";
      return { number: compact, form: "local", country: null, isPremium: false };
    }
    const number = chooseReading(dialled, isInternational ? null : country);
    if (!number) return `must be a telephone number such as +49 30 123456`;
    if (!number.isPossible())
      return `cannot be a number of ${number.country ?? `country code +${number.countryCallingCode}`}: ${number.number} has a wrong length`;
    const isPremium = number.getType() === "PREMIUM_RATE";
    return { number: number.number, form: "international", country: number.country ?? null, isPremium };
  };

  /** Lists often lose the plus: a number of the own country with its country code is not a national one. */
  function chooseReading(dialled: string, country: string | null): ReturnType<PhoneNumberLibrary> {
    const national = parsed(dialled, country);
    if (country === null || !national || /^\s*0/.test(dialled)) return national;
    const international = parsed(`+${dialled.replace(/\D/g, "")}`, null);
    return international?.isPossible() &&
      international.countryCallingCode === national.countryCallingCode &&
      !isMobile(national)
      ? international
      : national;
  }
}

function isMobile(number: NonNullable<ReturnType<PhoneNumberLibrary>>): boolean {
  return number.isValid() && /MOBILE/.test(number.getType() ?? "");
}
