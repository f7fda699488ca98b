import { sentence } from "./sentences.ts";
/** Dialling rules. */
export interface DialPlan {
  /** Replaces the plus of international numbers. */
  internationalPrefix: string;
  outsidePrefix: string;
  never: ReadonlySet<string>;
}

/** Dialled digits, or an error message. */
export type DialResult = { dialled: string; error?: never } | { error: string; dialled?: never };

/** Digits with an optional leading plus; null if not a telephone number. */
function normalizeNumber(text: string): string | null {
  const number = text.replace(/[\s()./-]/g, "");
  return /^\+?\d{3,15}$/.test(number) ? number : null;
}

const SERVICE_NUMBER = /^\d{2,15}$/;

/** Parses the list of blocked numbers; `invalid` are entries that are not numbers. */
export function parseBlockedNumbers(text: string): { never: ReadonlySet<string>; invalid: string[] } {
  const given = text.split(/[\s,;]+/).filter((each) => each !== "");
  const isNumber = (each: string): boolean => SERVICE_NUMBER.test(each);
  return { never: new Set(given.filter(isNumber)), invalid: given.filter((each) => !isNumber(each)) };
}

/** Resolves the dialled digits of a device identifier. */
export function resolveDialling(identifier: string, plan: DialPlan): DialResult {
  const number = normalizeNumber(identifier);
  if (number === null) return { error: sentence("identifier-invalid") };
  const dialled = `${plan.outsidePrefix}${number.replace("+", plan.internationalPrefix)}`;
  if ([number, dialled].some((each) => isEmergency(each, plan))) return { error: sentence("emergency-service") };
  return { dialled };
}

/** Prefixes that may precede an emergency number: an outside line, or a country code. */
const OUTSIDE_LINE_PREFIX = /^(?:0{0,2}|[189])$/;
const COUNTRY_PREFIX = /^(?:\+|00|011)\d{0,4}$/;

/**
 * True if a number reaches an emergency service, also behind a prefix for an outside line or a country code. Blocks
 * rather one number too many than one too few.
 */
function isEmergency(number: string, { outsidePrefix, never }: DialPlan): boolean {
  return [...never].some((service) => {
    if (!number.endsWith(service)) return false;
    const before = number.slice(0, -service.length);
    const behind = before.startsWith(outsidePrefix) ? before.slice(outsidePrefix.length) : before;
    return [before, behind].some((each) => OUTSIDE_LINE_PREFIX.test(each) || COUNTRY_PREFIX.test(each));
  });
}
