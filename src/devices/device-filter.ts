import { RE2JS } from "re2js";
import { invalidValue } from "../lib/errors.ts";

/** How a filter compares an attribute with its value. @source decisions.md 11 */
export const FILTER_COMPARISONS = ["BEGINS_WITH", "CONTAINS", "ENDS_WITH", "EQUALS", "MATCHES_REGEX"] as const;

/** One comparison of `COMPARISONS`. */
export type FilterComparison = (typeof FILTER_COMPARISONS)[number];

/** One test on one attribute; `complement` turns the answer round. */
export interface DeviceFilter {
  attribute: string;
  comparison: FilterComparison;
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
  evaluationCache?: DeviceEvaluationCache;
}

/** What was found out about a device as it was read. */
export interface DeviceEvaluationCache {
  /** Texts of its attributes: at least one each. */
  texts: Map<string, readonly string[]>;
  lowerCaseTexts: Map<string, readonly string[]>;
  /** Whether one of its texts fits a pattern. */
  patternResults: Map<string, boolean>;
  /** Groups that it is in or not, as far as others are based on them. */
  groupResults: Map<object, boolean>;
}

/** The memory of a device. */
export function evaluationCacheOf(device: FilterableDevice): DeviceEvaluationCache {
  device.evaluationCache ??= {
    texts: new Map(),
    lowerCaseTexts: new Map(),
    patternResults: new Map(),
    groupResults: new Map(),
  };
  return device.evaluationCache;
}

/** True when the device is meant. */
export type DevicePredicate = (device: FilterableDevice) => boolean;

/** Most filters of one group. @source service-api.md, Limits */
const MAX_FILTERS = 200;
/** @source decisions.md 11 */
const MAX_PATTERN_LENGTH = 200;
/** @source decisions.md 11 */
const MAX_TESTED_LENGTH = 256;
/**
 * What the patterns of one group may cost together, in instructions of about 3 µs. own choice: 200 ordinary patterns
 * take half of it, while one of 200 characters may take 100 ms to compile and 10 ms per device.
 */
const MAX_PATTERN_COST = 10_000;
const CHARACTER_CLASS_COST = 100;
/** Code points of a range that cost as much as an instruction, when letters match without case. */
const RANGE_PER_COST_UNIT = 30;
/** own choice: as long as any attribute can be */
const MAX_VALUE_LENGTH = 1_000;
const MAX_ATTRIBUTE_LENGTH = 140;

/**
 * Reads the JSON of a group's `filters` (null: none); members it doesn't know are ignored, `complement` and
 * `caseSensitive` are false when absent. Throws CallerError naming the filter by its 1-based number.
 */
export function parseFilters(input: unknown): DeviceFilter[] {
  if (input === null || input === undefined) return [];
  if (!Array.isArray(input)) throw invalidValue("filters", "A list of filters is expected.");
  if (input.length > MAX_FILTERS) throw invalidValue("filters", `At most ${MAX_FILTERS} filters are allowed.`);
  const filters = input.map((filter, index) => parseFilter(filter, index + 1));
  assertPatternCost(filters);
  return filters;
}

/** Throws before a group's patterns together could hold up everything else. */
function assertPatternCost(filters: readonly DeviceFilter[]): void {
  let effort = 0;
  for (const [index, filter] of filters.entries()) {
    if (filter.comparison !== "MATCHES_REGEX") continue;
    effort += estimatePatternCost(filter.value);
    if (effort <= MAX_PATTERN_COST) effort += compilePattern(filter, index + 1).programSize();
    if (effort > MAX_PATTERN_COST) throw filterError(index + 1, "The patterns of the group are too costly together.");
  }
}

/** What a pattern costs by its text: classes by name, and wide ranges. */
function estimatePatternCost(pattern: string): number {
  let effort = (pattern.match(/\\p/gi)?.length ?? 0) * CHARACTER_CLASS_COST;
  for (const [, code, sign = ""] of pattern.matchAll(/-(?:\\x\{([0-9a-f]{1,8})\}|(.))/giu)) {
    const end = code === undefined ? (sign.codePointAt(0) ?? 0) : Number.parseInt(code, 16);
    effort += Math.floor(end / RANGE_PER_COST_UNIT);
  }
  return effort;
}

function parseFilter(input: unknown, number: number): DeviceFilter {
  if (typeof input !== "object" || input === null || Array.isArray(input))
    throw filterError(number, "An object is expected.");
  const given = input as Record<string, unknown>;
  const { attribute, comparison, value, complement, caseSensitive = given["case-sensitive"] } = given;
  if (typeof attribute !== "string" || attribute.length === 0 || attribute.length > MAX_ATTRIBUTE_LENGTH) {
    throw filterError(number, `The attribute is a text of 1 to ${MAX_ATTRIBUTE_LENGTH} characters.`);
  }
  if (!FILTER_COMPARISONS.includes(comparison as FilterComparison)) {
    throw filterError(number, `The comparison is one of ${FILTER_COMPARISONS.join(", ")}.`);
  }
  if (typeof value !== "string" || value.length > MAX_VALUE_LENGTH) {
    throw filterError(number, `The value is a text of at most ${MAX_VALUE_LENGTH} characters.`);
  }
  const filter = {
    attribute,
    comparison: comparison as FilterComparison,
    value,
    complement: parseFlag(complement, number, "complement"),
    caseSensitive: parseFlag(caseSensitive, number, "caseSensitive"),
  };
  return filter;
}

/** Booleans come as such or as words; any word but "true" is false. @source decisions.md 1 */
function parseFlag(value: unknown, number: number, name: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "boolean") return value;
  if (typeof value === "string") return value === "true";
  throw filterError(number, `${name} is true or false.`);
}

function filterError(number: number, detail: string): Error {
  return invalidValue("filters", `Filter ${number}: ${detail}`);
}

/** Tests of patterns that were compiled, so that many filters that say the same have one. */
export type CompiledPatterns = Map<string, (value: string) => boolean>;

/** Patterns that are remembered; those in use stay, whatever is forgotten. own choice */
const MAX_PATTERNS = 10_000;

/** Texts of an attribute, found once however many filters ask; `isFolded` for comparisons without case. */
function textsOf(device: FilterableDevice, attribute: string, isFolded: boolean): readonly string[] {
  const { lowerCaseTexts, texts: plain } = evaluationCacheOf(device);
  const memory = isFolded ? lowerCaseTexts : plain;
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
export function compileDeviceFilter(
  filter: DeviceFilter,
  number: number,
  patterns: CompiledPatterns = new Map(),
): DevicePredicate {
  const { attribute, complement, caseSensitive, comparison } = filter;
  if (comparison === "MATCHES_REGEX") return createPatternTest(filter, number, patterns);
  const matches = createTextTest(comparison, caseSensitive ? filter.value : filter.value.toLowerCase());
  return (device) => {
    const values = textsOf(device, attribute, !caseSensitive);
    return (values.length === 1 ? matches(values[0] as string) : values.some(matches)) !== complement;
  };
}

/** The test of a text; both are in lower case where case does not matter. */
function createTextTest(
  comparison: Exclude<FilterComparison, "MATCHES_REGEX">,
  wanted: string,
): (value: string) => boolean {
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
function createPatternTest(filter: DeviceFilter, number: number, patterns: CompiledPatterns): DevicePredicate {
  const { attribute, complement, caseSensitive, value: written } = filter;
  const key = `${caseSensitive} ${attribute}\n${written}`;
  const matches = cachedPatternTest(filter, number, patterns);
  return (device) => {
    const { patternResults } = evaluationCacheOf(device);
    let fit = patternResults.get(key);
    if (fit === undefined) {
      fit = textsOf(device, attribute, false).some(matches);
      patternResults.set(key, fit);
    }
    return fit !== complement;
  };
}

function cachedPatternTest(
  filter: DeviceFilter,
  number: number,
  patterns: CompiledPatterns,
): (value: string) => boolean {
  const key = `${filter.caseSensitive} ${filter.value}`;
  const known = patterns.get(key);
  if (known) return known;
  const pattern = compilePattern(filter, number);
  const matches = (value: string): boolean => pattern.test(value.slice(0, MAX_TESTED_LENGTH));
  if (patterns.size >= MAX_PATTERNS) patterns.clear();
  patterns.set(key, matches);
  return matches;
}

function compilePattern(filter: DeviceFilter, number: number): RE2JS {
  if ([...filter.value].length > MAX_PATTERN_LENGTH) {
    throw filterError(number, `A pattern has at most ${MAX_PATTERN_LENGTH} characters.`);
  }
  try {
    return RE2JS.compile(filter.value, filter.caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    throw filterError(number, `The pattern can't be used (${(error as Error).message}).`);
  }
}

/** The texts of an attribute; what every device has besides its attributes answers to the names people know. */
function valuesOf(device: FilterableDevice, attribute: string): string[] {
  const value = device.attributes[attribute] ?? builtInAttribute(device, attribute);
  if (value === undefined || value === null) return [""];
  if (!Array.isArray(value)) return [textOf(value)];
  return value.length === 0 ? [""] : value.map(textOf);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** @source decisions.md 11 (attribute names) */
function builtInAttribute(device: FilterableDevice, attribute: string): string | undefined {
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
