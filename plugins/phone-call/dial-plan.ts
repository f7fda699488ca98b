/** How numbers are dialled, and which never. */
export interface DialPlan {
  /** Stands for the plus of international numbers. */
  internationalPrefix: string;
  /** Dialled before each number. */
  outsidePrefix: string;
  /** Numbers of emergency services. */
  never: ReadonlySet<string>;
}

/** What is dialled for a number, or in words why it is not called. */
export type DialResult = { dialled: string; fault?: never } | { fault: string; dialled?: never };

/** Digits with a plus before them where there was one; null for what is no telephone number. */
function normalizeNumber(text: string): string | null {
  const number = text.replace(/[\s()./-]/g, "");
  return /^\+?\d{3,15}$/.test(number) ? number : null;
}

const SERVICE_NUMBER = /^\d{2,15}$/;

/** Reads the list of numbers that are never called; `faults` are those that are none. */
export function parseBlockedNumbers(text: string): { never: ReadonlySet<string>; faults: string[] } {
  const given = text.split(/[\s,;]+/).filter((each) => each !== "");
  const isNumber = (each: string): boolean => SERVICE_NUMBER.test(each);
  return { never: new Set(given.filter(isNumber)), faults: given.filter((each) => !isNumber(each)) };
}

/** What is dialled for the number of a person's device. */
export function resolveDialling(identifier: string, plan: DialPlan): DialResult {
  const number = normalizeNumber(identifier);
  if (number === null) return { fault: "it is not a telephone number" };
  const dialled = `${plan.outsidePrefix}${number.replace("+", plan.internationalPrefix)}`;
  if ([number, dialled].some((each) => isEmergency(each, plan)))
    return { fault: "it is the number of an emergency service" };
  return { dialled };
}

/** What may stand before a number: a way out, and a country or nothing. */
const OUTSIDE_LINE_PREFIX = /^(?:0{0,2}|[189])$/;
const COUNTRY_PREFIX = /^(?:\+|00|011)\d{0,4}$/;

/**
 * True for a number that leads to an emergency service, also behind a prefix for an outside line or the number of a country.
 * own choice: rather one number too many is not called than an operator kept from an emergency.
 */
function isEmergency(number: string, { outsidePrefix, never }: DialPlan): boolean {
  return [...never].some((service) => {
    if (!number.endsWith(service)) return false;
    const before = number.slice(0, -service.length);
    const behind = before.startsWith(outsidePrefix) ? before.slice(outsidePrefix.length) : before;
    return [before, behind].some((each) => OUTSIDE_LINE_PREFIX.test(each) || COUNTRY_PREFIX.test(each));
  });
}
