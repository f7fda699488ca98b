import { RE2JS } from "re2js";
import { invalidValue } from "../base/errors.ts";

/** How a filter compares an attribute with its value. @source decisions.md 11 */
export const COMPARISONS = ["BEGINS_WITH", "CONTAINS", "ENDS_WITH", "EQUALS", "MATCHES_REGEX"] as const;

/** One comparison of `COMPARISONS`. */
export type Comparison = (typeof COMPARISONS)[number];

/** One test on one attribute; `complement` turns the answer round. */
export interface DeviceFilter {
  attribute: string;
  comparison: Comparison;
  value: string;
  complement: boolean;
  caseSensitive: boolean;
}

/** A device as filters see it. */
export interface FilterableDevice {
  pk: number;
  icopId: string;
  deviceIdentifier: string;
  description: string;
  type: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** True when the device is meant. */
export type DevicePredicate = (device: FilterableDevice) => boolean;

/** Most filters of one group. @source service-api.md, Limits */
const MOST_FILTERS = 200;
/** @source decisions.md 11 */
const MOST_PATTERN = 200;
/** @source decisions.md 11 */
const MOST_TESTED = 256;
/**
 * What the patterns of one group may cost together, in instructions of about 3 µs. own choice: 200 ordinary patterns
 * take half of it, while one of 200 characters may take 100 ms to compile and 10 ms per device.
 */
const MOST_EFFORT = 10_000;
const EFFORT_OF_CLASS = 100;
/** Code points of a range that cost as much as an instruction, when letters match without case. */
const RANGE_PER_EFFORT = 30;
/** own choice: as long as any attribute can be */
const MOST_VALUE = 1_000;
const MOST_ATTRIBUTE = 140;

/**
 * Reads the JSON of a group's `filters` (null: none); members it doesn't know are ignored, `complement` and
 * `caseSensitive` are false when absent. Throws CallerError naming the filter by its 1-based number.
 */
export function readFilters(input: unknown): DeviceFilter[] {
  if (input === null || input === undefined) return [];
  if (!Array.isArray(input)) throw invalidValue("filters", "A list of filters is expected.");
  if (input.length > MOST_FILTERS) throw invalidValue("filters", `At most ${MOST_FILTERS} filters are allowed.`);
  const filters = input.map((filter, index) => readFilter(filter, index + 1));
  limitEffort(filters);
  return filters;
}

/** Throws before a group's patterns together could hold up everything else. */
function limitEffort(filters: readonly DeviceFilter[]): void {
  let effort = 0;
  for (const [index, filter] of filters.entries()) {
    if (filter.comparison !== "MATCHES_REGEX") continue;
    effort += effortBefore(filter.value);
    if (effort <= MOST_EFFORT) effort += compilePattern(filter, index + 1).programSize();
    if (effort > MOST_EFFORT) throw faultOf(index + 1, "The patterns of the group are too costly together.");
  }
}

/** What a pattern costs by its text: classes by name, and wide ranges. */
function effortBefore(pattern: string): number {
  let effort = (pattern.match(/\\p/gi)?.length ?? 0) * EFFORT_OF_CLASS;
  for (const [, code, sign = ""] of pattern.matchAll(/-(?:\\x\{([0-9a-f]{1,8})\}|(.))/giu)) {
    const end = code === undefined ? (sign.codePointAt(0) ?? 0) : Number.parseInt(code, 16);
    effort += Math.floor(end / RANGE_PER_EFFORT);
  }
  return effort;
}

function readFilter(input: unknown, number: number): DeviceFilter {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    throw faultOf(number, "An object is expected.");
  const given = input as Record<string, unknown>;
  const { attribute, comparison, value, complement, caseSensitive = given["case-sensitive"] } = given;
  if (typeof attribute !== "string" || attribute.length === 0 || attribute.length > MOST_ATTRIBUTE) {
    throw faultOf(number, `The attribute is a text of 1 to ${MOST_ATTRIBUTE} characters.`);
  }
  if (!COMPARISONS.includes(comparison as Comparison)) {
    throw faultOf(number, `The comparison is one of ${COMPARISONS.join(", ")}.`);
  }
  if (typeof value !== "string" || value.length > MOST_VALUE) {
    throw faultOf(number, `The value is a text of at most ${MOST_VALUE} characters.`);
  }
  const filter = {
    attribute,
    comparison: comparison as Comparison,
    value,
    complement: flag(complement, number, "complement"),
    caseSensitive: flag(caseSensitive, number, "caseSensitive"),
  };
  return filter;
}

/** Booleans come as such or as words; any word but "true" is false. @source decisions.md 1 */
function flag(value: unknown, number: number, name: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "boolean") return value;
  if (typeof value === "string") return value === "true";
  throw faultOf(number, `${name} is true or false.`);
}

function faultOf(number: number, detail: string): Error {
  return invalidValue("filters", `Filter ${number}: ${detail}`);
}

/** The texts of a device that filters ask for, each found once however many filters ask. */
export interface DeviceTexts {
  /** Texts of an attribute: at least one. `folded` for comparisons without case. */
  of(device: FilterableDevice, attribute: string, folded: boolean): readonly string[];
  /** The test of a pattern, made once for all filters that say the same. */
  patterns: Map<string, (value: string) => boolean>;
}

/** Patterns that are remembered; those in use stay, whatever is forgotten. own choice */
const MOST_PATTERNS = 10_000;

/** Makes a memory of one device, the one that was asked about last. */
export function createDeviceTexts(): DeviceTexts {
  let known: FilterableDevice | null = null;
  const plain = new Map<string, readonly string[]>();
  const folded = new Map<string, readonly string[]>();
  return {
    patterns: new Map(),
    of(device, attribute, isFolded) {
      if (known !== device) {
        known = device;
        plain.clear();
        folded.clear();
      }
      const memory = isFolded ? folded : plain;
      const found = memory.get(attribute);
      if (found) return found;
      const values = valuesOf(device, attribute);
      const texts = isFolded ? values.map((value) => value.toLowerCase()) : values;
      memory.set(attribute, texts);
      return texts;
    },
  };
}

/**
 * Makes the test of one filter. An attribute with several values matches when one of them does; one that is absent
 * counts as the empty text. own choice: the comparison looks anywhere in the value for MATCHES_REGEX (use ^ and $).
 */
export function compileFilter(filter: DeviceFilter, number: number, texts = createDeviceTexts()): DevicePredicate {
  const { attribute, complement, caseSensitive, comparison } = filter;
  const matches = textTest(filter, number, texts.patterns);
  const isFolded = !caseSensitive && comparison !== "MATCHES_REGEX";
  return (device) => {
    const values = texts.of(device, attribute, isFolded);
    const [first] = values;
    return (values.length === 1 ? matches(first as string) : values.some(matches)) !== complement;
  };
}

/** The test of a text, in lower case where case does not matter. */
function textTest(filter: DeviceFilter, number: number, patterns: DeviceTexts["patterns"]): (value: string) => boolean {
  const wanted = filter.caseSensitive ? filter.value : filter.value.toLowerCase();
  switch (filter.comparison) {
    case "MATCHES_REGEX":
      return patternTest(filter, number, patterns);
    case "BEGINS_WITH":
      return (value) => value.startsWith(wanted);
    case "CONTAINS":
      return (value) => value.includes(wanted);
    case "ENDS_WITH":
      return (value) => value.endsWith(wanted);
    case "EQUALS":
      return (value) => value === wanted;
  }
}

/** Patterns are what costs: the last answer stands for other filters that say the same, and for the next such value. */
function patternTest(
  filter: DeviceFilter,
  number: number,
  patterns: DeviceTexts["patterns"],
): (value: string) => boolean {
  const key = `${filter.caseSensitive} ${filter.value}`;
  const known = patterns.get(key);
  if (known) return known;
  const pattern = compilePattern(filter, number);
  let last: string | null = null;
  let answer = false;
  const test = (value: string): boolean => {
    if (value === last) return answer;
    answer = pattern.test(value.slice(0, MOST_TESTED));
    last = value;
    return answer;
  };
  if (patterns.size >= MOST_PATTERNS) patterns.clear();
  patterns.set(key, test);
  return test;
}

function compilePattern(filter: DeviceFilter, number: number): RE2JS {
  if ([...filter.value].length > MOST_PATTERN) {
    throw faultOf(number, `A pattern has at most ${MOST_PATTERN} characters.`);
  }
  try {
    return RE2JS.compile(filter.value, filter.caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    throw faultOf(number, `The pattern can't be used (${(error as Error).message}).`);
  }
}

/** The texts of an attribute; what every device has besides its attributes answers to the names people know. */
function valuesOf(device: FilterableDevice, attribute: string): string[] {
  const value = device.attributes[attribute] ?? ownValue(device, attribute);
  if (value === undefined || value === null) return [""];
  if (!Array.isArray(value)) return [textOf(value)];
  return value.length === 0 ? [""] : value.map(textOf);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** @source decisions.md 11 (attribute names) */
function ownValue(device: FilterableDevice, attribute: string): string | undefined {
  switch (attribute) {
    case "Name":
    case "deviceIdentifier":
      return device.deviceIdentifier;
    case "Description":
    case "description":
      return device.description;
    case "ServiceDeviceType":
    case "type":
      return device.type;
    case "icopId":
      return device.icopId;
    default:
      return undefined;
  }
}
