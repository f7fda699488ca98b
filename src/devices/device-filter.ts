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
  /** What filters and groups found out about it, so that each asks once; made by the first that asks. */
  memory?: DeviceMemory;
}

/** What was found out about a device as it was read. */
export interface DeviceMemory {
  /** Texts of its attributes: at least one each. */
  plain: Map<string, readonly string[]>;
  folded: Map<string, readonly string[]>;
  /** Whether one of its texts fits a pattern. */
  fits: Map<string, boolean>;
  /** Groups that it is in or not, as far as others are based on them. */
  groups: Map<object, boolean>;
}

/** The memory of a device. */
export function memoryOf(device: FilterableDevice): DeviceMemory {
  device.memory ??= { plain: new Map(), folded: new Map(), fits: new Map(), groups: new Map() };
  return device.memory;
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

/** Tests of patterns that were compiled, so that many filters that say the same have one. */
export type Patterns = Map<string, (value: string) => boolean>;

/** Patterns that are remembered; those in use stay, whatever is forgotten. own choice */
const MOST_PATTERNS = 10_000;

/** Texts of an attribute, found once however many filters ask; `isFolded` for comparisons without case. */
function textsOf(device: FilterableDevice, attribute: string, isFolded: boolean): readonly string[] {
  const { folded, plain } = memoryOf(device);
  const memory = isFolded ? folded : plain;
  const found = memory.get(attribute);
  if (found) return found;
  const values = valuesOf(device, attribute);
  const texts = isFolded ? values.map((value) => value.toLowerCase()) : values;
  memory.set(attribute, texts);
  return texts;
}

/**
 * Makes the test of one filter. An attribute with several values matches when one of them does; one that is absent
 * counts as the empty text. own choice: the comparison looks anywhere in the value for MATCHES_REGEX (use ^ and $).
 */
export function compileFilter(filter: DeviceFilter, number: number, patterns: Patterns = new Map()): DevicePredicate {
  const { attribute, complement, caseSensitive, comparison } = filter;
  if (comparison === "MATCHES_REGEX") return patternTest(filter, number, patterns);
  const matches = textTest(comparison, caseSensitive ? filter.value : filter.value.toLowerCase());
  return (device) => {
    const values = textsOf(device, attribute, !caseSensitive);
    return (values.length === 1 ? matches(values[0] as string) : values.some(matches)) !== complement;
  };
}

/** The test of a text; both are in lower case where case does not matter. */
function textTest(comparison: Exclude<Comparison, "MATCHES_REGEX">, wanted: string): (value: string) => boolean {
  switch (comparison) {
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

/** Patterns are what costs: a device remembers the answer for all filters that say the same. */
function patternTest(filter: DeviceFilter, number: number, patterns: Patterns): DevicePredicate {
  const { attribute, complement, caseSensitive, value: written } = filter;
  const key = `${caseSensitive} ${attribute}\n${written}`;
  const matches = matchesOf(filter, number, patterns);
  return (device) => {
    const { fits } = memoryOf(device);
    let fit = fits.get(key);
    if (fit === undefined) {
      fit = textsOf(device, attribute, false).some(matches);
      fits.set(key, fit);
    }
    return fit !== complement;
  };
}

function matchesOf(filter: DeviceFilter, number: number, patterns: Patterns): (value: string) => boolean {
  const key = `${filter.caseSensitive} ${filter.value}`;
  const known = patterns.get(key);
  if (known) return known;
  const pattern = compilePattern(filter, number);
  const matches = (value: string): boolean => pattern.test(value.slice(0, MOST_TESTED));
  if (patterns.size >= MOST_PATTERNS) patterns.clear();
  patterns.set(key, matches);
  return matches;
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
