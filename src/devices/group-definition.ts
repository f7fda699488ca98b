import { invalidValue } from "../lib/errors.ts";
import {
  type CompiledPatterns,
  compileDeviceFilter,
  type DeviceFilter,
  type DevicePredicate,
  evaluationCacheOf,
  type FilterableDevice,
  parseFilters,
} from "./device-filter.ts";
import { evaluateExpression, parseLogicalExpression } from "./logical-expression.ts";

/** How a group's filters work together. @source service-api.md, /v1/device-groups */
export const FILTER_TYPES = ["OR", "AND", "ACCEPT", "REJECT", "LOGICAL_EXPRESSION"] as const;

/** One of `FILTER_TYPES`. */
export type FilterType = (typeof FILTER_TYPES)[number];

/** What a device group says of its members; icopIds are compared without case. */
export interface GroupDefinition {
  filterType: FilterType;
  filters: readonly DeviceFilter[];
  logicalExpression: string | null;
  baseDeviceGroupIds: readonly string[];
  additionIds: readonly string[];
  exclusionIds: readonly string[];
}

/** A group ready to be asked. */
export interface CompiledGroup {
  /** Whether a device is a member. */
  contains: DevicePredicate;
  /** It may take ms to say so: it has patterns, or is based on others. */
  isCostly: boolean;
  /** The same, remembered by the device: for groups that are based on it. */
  containsCached: DevicePredicate;
}

/** own choice, as the declaration of device-groups */
const MAX_BASE_GROUPS = 200;
/** own choice, as the declaration of device-groups */
const MAX_NAMED_DEVICES = 20_000;

/**
 * Reads a group from a row or from the JSON of an ad-hoc group. Throws CallerError naming the faulty field.
 * own choice: filters are joined by OR when there is no filterType.
 */
export function parseGroupDefinition(input: Readonly<Record<string, unknown>>): GroupDefinition {
  const filters = parseFilters(input.filters);
  const baseDeviceGroupIds = parseTexts(input.baseDeviceGroupIds, "baseDeviceGroupIds", MAX_BASE_GROUPS);
  const filterType = (input.filterType ?? "OR") as FilterType;
  if (!FILTER_TYPES.includes(filterType))
    throw invalidValue("filterType", `One of ${FILTER_TYPES.join(", ")} is expected.`);
  const expression = input.logicalExpression ?? null;
  if (expression !== null && typeof expression !== "string") {
    throw invalidValue("logicalExpression", "It must be a text.");
  }
  if (filterType === "LOGICAL_EXPRESSION") parseLogicalExpression(expression ?? "", filters.length);
  return {
    filterType,
    filters,
    logicalExpression: expression,
    baseDeviceGroupIds,
    additionIds: parseTexts(input.additionIds, "additionIds", MAX_NAMED_DEVICES),
    exclusionIds: parseTexts(input.exclusionIds, "exclusionIds", MAX_NAMED_DEVICES),
  };
}

function parseTexts(input: unknown, field: string, most: number): string[] {
  if (input === null || input === undefined) return [];
  if (!Array.isArray(input) || !input.every((item) => typeof item === "string")) {
    throw invalidValue(field, "A list of texts is expected.");
  }
  if (input.length > most) throw invalidValue(field, `At most ${most} are allowed.`);
  return input;
}

/**
 * The test made of a group's filters alone: OR any, AND all, ACCEPT every device, REJECT none.
 * own choice: OR and AND without a filter take all devices of the base groups, and nothing where there are no base
 * groups, so that a half-finished group never means everybody.
 */
export function compileFilters(group: GroupDefinition, patterns: CompiledPatterns = new Map()): DevicePredicate {
  if (group.filterType === "ACCEPT") return () => true;
  if (group.filterType === "REJECT") return () => false;
  const tests = group.filters.map((filter, index) => compileDeviceFilter(filter, index + 1, patterns));
  if (tests.length === 0) return () => group.baseDeviceGroupIds.length > 0;
  if (group.filterType === "OR") return shortCircuit(tests, true);
  if (group.filterType === "AND") return shortCircuit(tests, false);
  const expression = parseLogicalExpression(group.logicalExpression ?? "", tests.length);
  return (device) => evaluateExpression(expression, (number) => tests[number - 1]?.(device) ?? false);
}

/** Asks tests in turn until one answers `end`, which is the answer then. Asked so often that it makes no function. */
function shortCircuit(tests: readonly DevicePredicate[], end: boolean): DevicePredicate {
  return (device) => {
    for (const test of tests) if (test(device) === end) return end;
    return !end;
  };
}

/**
 * Compiles groups that may be based on each other; a base group that is not among them has no members.
 * Members = (filters over the base groups' members, or over all devices when there are none) + additions - exclusions.
 * A group is asked at most twice about a device, whatever way the bases lead; a circle ends there.
 * @source decisions.md 11
 */
export function compileGroups(groups: ReadonlyMap<string, GroupDefinition>): ReadonlyMap<string, CompiledGroup> {
  const compiled = new Map<string, CompiledGroup>();
  const patterns: CompiledPatterns = new Map();
  for (const [id, group] of groups) compiled.set(id, compileGroup(group, compiled, patterns));
  return compiled;
}

/** Compiles one group; its base groups are looked for among `others` when it is asked, so that these may change. */
export function compileGroup(
  group: GroupDefinition,
  others: ReadonlyMap<string, CompiledGroup>,
  patterns: CompiledPatterns,
): CompiledGroup {
  const passes = compileFilters(group, patterns);
  const additions = new Set(group.additionIds.map(normalizeIcopId));
  const exclusions = new Set(group.exclusionIds.map(normalizeIcopId));
  const { baseDeviceGroupIds: bases } = group;
  const inBase: DevicePredicate =
    bases.length === 0 ? () => true : (device) => bases.some((id) => others.get(id)?.containsCached(device) ?? false);
  const isNamed = (ids: ReadonlySet<string>, device: FilterableDevice): boolean =>
    ids.size > 0 && ids.has(normalizeIcopId(device.icopId));
  const decide: DevicePredicate = (device) =>
    !isNamed(exclusions, device) && (isNamed(additions, device) || (inBase(device) && passes(device)));
  const self = {};
  const containsCached: DevicePredicate = (device) => {
    const { groupResults } = evaluationCacheOf(device);
    const known = groupResults.get(self);
    if (known !== undefined) return known;
    // Set before deciding: a circle of bases comes back here and finds no member.
    groupResults.set(self, false);
    const answer = decide(device);
    groupResults.set(self, answer);
    return answer;
  };
  // What has no bases is asked often and remembered by nobody.
  const contains = bases.length === 0 ? decide : containsCached;
  const isCostly = bases.length > 0 || group.filters.some(({ comparison }) => comparison === "MATCHES_REGEX");
  return { contains, containsCached, isCostly };
}

function normalizeIcopId(icopId: string): string {
  return icopId.toLowerCase();
}
