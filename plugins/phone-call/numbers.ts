/** How numbers are dialled, and which never. */
export interface DialPlan {
  /** Stands for the plus of international numbers. */
  plus: string;
  /** Dialled before each number. */
  prefix: string;
  /** Numbers of emergency services. */
  never: ReadonlySet<string>;
}

/** What is dialled for a number, or in words why it is not called. */
export type Dialling = { dialled: string; fault?: never } | { fault: string; dialled?: never };

/** Digits with a plus before them where there was one; null for what is no telephone number. */
function numberOf(text: string): string | null {
  const number = text.replace(/[\s()./-]/g, "");
  return /^\+?\d{3,15}$/.test(number) ? number : null;
}

/** Reads the list of numbers that are never called. */
export function readNever(text: string): ReadonlySet<string> {
  return new Set(text.split(/[\s,;]+/).filter((each) => /^\d{2,6}$/.test(each)));
}

/** What is dialled for the number of a person's device. */
export function diallingOf(identifier: string, { plus, prefix, never }: DialPlan): Dialling {
  const number = numberOf(identifier);
  if (number === null) return { fault: "it is not a telephone number" };
  const dialled = `${prefix}${number.replace("+", plus)}`;
  if (isEmergency(number, prefix, never)) return { fault: "it is the number of an emergency service" };
  return { dialled };
}

/** What may stand before a number: a way out, and a country or nothing. */
const WAYS_OUT = /^(?:0{0,2}|9|8)$/;
const COUNTRY = /^(?:\+|00)\d{1,3}$/;

/**
 * True for a number that leads to an emergency service, also behind a prefix for an outside line or the number of a country.
 * own choice: rather one number too many is not called than an operator kept from an emergency.
 */
function isEmergency(number: string, prefix: string, never: ReadonlySet<string>): boolean {
  return [...never].some((service) => {
    if (!number.endsWith(service)) return false;
    const before = number.slice(0, -service.length);
    return before === prefix || WAYS_OUT.test(before) || COUNTRY.test(before);
  });
}
