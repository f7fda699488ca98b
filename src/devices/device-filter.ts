import { RE2JS } from "re2js";
import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";

/** Comparisons of an attribute with a value. @source docs/decisions/0011-device-groups.md, Filters */
export const FILTER_COMPARISONS = ["BEGINS_WITH", "CONTAINS", "ENDS_WITH", "EQUALS", "MATCHES_REGEX"] as const;

export type FilterComparison = (typeof FILTER_COMPARISONS)[number];

/** One test of one attribute; `complement` negates it. */
export interface DeviceFilter {
  attribute: string;
  comparison: FilterComparison;
  value: string;
  complement: boolean;
  caseSensitive: boolean;
}

/** A device, as far as filters use it. */
export interface FilterableDevice {
  pk: number;
  icopId: string;
  deviceIdentifier: string;
  description: string;
  type: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Results shared by filters and groups, so that each is computed once; created on first use. */
  evaluationCache?: DeviceEvaluationCache;
}

/** Cached results for one device row. */
export interface DeviceEvaluationCache {
  /** Values of its attributes: at least one each. */
  texts: Map<string, readonly string[]>;
  lowerCaseTexts: Map<string, readonly string[]>;
  /** Whether one of its values matches a pattern. */
  patternResults: Map<string, boolean>;
  /** Memberships in groups that other groups are based on. */
  groupResults: Map<object, boolean>;
}

export function evaluationCacheOf(device: FilterableDevice): DeviceEvaluationCache {
  device.evaluationCache ??= {
    texts: new Map(),
    lowerCaseTexts: new Map(),
    patternResults: new Map(),
    groupResults: new Map(),
  };
  return device.evaluationCache;
}

export type DevicePredicate = (device: FilterableDevice) => boolean;

/** Filters per group. @source docs/decisions/0042-api-contract.md, Limits */
const MAX_FILTERS = 200;
/** @source docs/decisions/0011-device-groups.md, Filters */
const MAX_PATTERN_LENGTH = 200;
/** @source docs/decisions/0011-device-groups.md, Filters */
const MAX_TESTED_LENGTH = 256;
/**
 * Limit for all patterns of a group together, in RE2 instructions of about 3 µs. 200 ordinary patterns use half of it; one
 * pattern of 200 characters may take 100 ms to compile and 10 ms per device.
 * @source docs/decisions/0201-device-groups-and-filters.md, Filters
 */
const MAX_PATTERN_COST = 10_000;
const CHARACTER_CLASS_COST = 100;
/** Code points of a range that cost as much as one instruction, for case-insensitive matching. */
const RANGE_PER_COST_UNIT = 30;
/** As long as the longest attribute. @source docs/decisions/0201-device-groups-and-filters.md, Filters */
const MAX_VALUE_LENGTH = 1_000;
const MAX_ATTRIBUTE_LENGTH = 140;

/**
 * Parses the JSON of a group's `filters` (null: none). Unknown members are ignored; `complement` and `caseSensitive` default
 * to false. Throws CallerError that names the filter by its 1-based number.
 */
export function parseFilters(input: unknown): DeviceFilter[] {
  if (input === null || input === undefined) return [];
  if (!Array.isArray(input)) throw invalidValue("filters", sentence("field.must-be-a-list-of-filters"));
  if (input.length > MAX_FILTERS)
    throw invalidValue("filters", sentence("field.must-have-at-most-limit-filters", { limit: MAX_FILTERS }));
  const filters = input.map((filter, index) => parseFilter(filter, index + 1));
  assertPatternCost(filters);
  return filters;
}

/** Throws CallerError if the patterns of a group together could block the event loop. */
function assertPatternCost(filters: readonly DeviceFilter[]): void {
  let effort = 0;
  for (const [index, filter] of filters.entries()) {
    if (filter.comparison !== "MATCHES_REGEX") continue;
    effort += estimatePatternCost(filter.value);
    if (effort <= MAX_PATTERN_COST) effort += compilePattern(filter, index + 1).programSize();
    if (effort > MAX_PATTERN_COST)
      throw filterError(
        index + 1,
        sentence("field.the-patterns-of-the-group-exceed-the-total-cost-limit-use-shorter-patterns"),
      );
  }
}

/** Estimates the cost of a pattern from its text: named classes and wide ranges. */
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
    throw filterError(number, sentence("field.must-be-an-object"));
  const given = input as Record<string, unknown>;
  const { attribute, comparison, value, complement, caseSensitive = given["case-sensitive"] } = given;
  if (typeof attribute !== "string" || attribute.length === 0 || attribute.length > MAX_ATTRIBUTE_LENGTH) {
    throw filterError(
      number,
      sentence("field.the-attribute-must-be-a-string-of-1-to-limit-characters", { limit: MAX_ATTRIBUTE_LENGTH }),
    );
  }
  if (!FILTER_COMPARISONS.includes(comparison as FilterComparison)) {
    throw filterError(
      number,
      sentence("field.the-comparison-must-be-one-of-values", { values: FILTER_COMPARISONS.join(", ") }),
    );
  }
  if (typeof value !== "string" || value.length > MAX_VALUE_LENGTH) {
    throw filterError(
      number,
      sentence("field.the-value-must-be-a-string-of-at-most-limit-characters", { limit: MAX_VALUE_LENGTH }),
    );
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

/** Booleans may be strings; any string but "true" is false. @source docs/decisions/0001-lists-and-paging.md */
function parseFlag(value: unknown, number: number, name: string): boolean {
  if (value === undefined || value === null) return false;
  if (typeof value === "boolean") return value;
  if (typeof value === "string") return value === "true";
  throw filterError(number, sentence("field.name-must-be-true-or-false", { name }));
}

function filterError(number: number, detail: string): Error {
  return invalidValue("filters", sentence("field.filter-number-problem", { number, problem: detail }));
}

/** Cache of compiled patterns, shared by filters with the same pattern. */
export type CompiledPatterns = Map<string, (value: string) => boolean>;

/** Cached patterns; patterns in use survive eviction. @source docs/decisions/0201-device-groups-and-filters.md, Filters */
const MAX_PATTERNS = 10_000;

/** Values of an attribute, computed once per device; `isFolded` for case-insensitive comparison. */
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
 * Compiles one filter. An attribute with several values matches if one of them matches; a missing attribute counts as the
 * empty string. MATCHES_REGEX searches anywhere in the value (use ^ and $ to anchor).
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

/** Both strings are lower case if case does not matter. */
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

/** Patterns are the expensive part: each device caches the result for all filters with the same pattern. */
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
    throw filterError(
      number,
      sentence("field.a-pattern-must-have-at-most-limit-characters", { limit: MAX_PATTERN_LENGTH }),
    );
  }
  try {
    return RE2JS.compile(filter.value, filter.caseSensitive ? 0 : RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    throw filterError(number, sentence("field.invalid-pattern-problem", { problem: (error as Error).message }));
  }
}

/** Values of an attribute; built-in properties of a device are available under their usual names. */
function valuesOf(device: FilterableDevice, attribute: string): string[] {
  const value = device.attributes[attribute] ?? builtInAttribute(device, attribute);
  if (value === undefined || value === null) return [""];
  if (!Array.isArray(value)) return [textOf(value)];
  return value.length === 0 ? [""] : value.map(textOf);
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** @source docs/decisions/0011-device-groups.md, Filters */
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
