import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
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

/** How the filters of a group are combined. @source docs/decisions/0042-api-contract.md */
export const FILTER_TYPES = ["OR", "AND", "ACCEPT", "REJECT", "LOGICAL_EXPRESSION"] as const;

export type FilterType = (typeof FILTER_TYPES)[number];

/** Membership rules of a device group; icopIds are compared without case. */
export interface GroupDefinition {
  filterType: FilterType;
  filters: readonly DeviceFilter[];
  logicalExpression: string | null;
  baseDeviceGroupIds: readonly string[];
  /** Base groups were deleted: if none is left, the filters select no device. */
  hasLostBases: boolean;
  additionIds: readonly string[];
  exclusionIds: readonly string[];
}

/** A compiled device group. */
export interface CompiledGroup {
  /** True if a device is a member. */
  contains: DevicePredicate;
  /** May take ms per device: it has patterns or is based on other groups. */
  isCostly: boolean;
  /** As `contains`, with the result cached on the device: for groups based on this one. */
  containsCached: DevicePredicate;
}

/** @source docs/decisions/0201-device-groups-and-filters.md, Groups */
const MAX_BASE_GROUPS = 200;
/** @source docs/decisions/0201-device-groups-and-filters.md, Groups */
const MAX_NAMED_DEVICES = 20_000;

/**
 * Parses a group from a row or from the JSON of an ad-hoc group; filters are combined with OR by default. Throws CallerError
 * that names the invalid field.
 */
export function parseGroupDefinition(input: Readonly<Record<string, unknown>>): GroupDefinition {
  const filters = parseFilters(input.filters);
  const baseDeviceGroupIds = parseTexts(input.baseDeviceGroupIds, "baseDeviceGroupIds", MAX_BASE_GROUPS);
  const filterType = (input.filterType ?? "OR") as FilterType;
  if (!FILTER_TYPES.includes(filterType))
    throw invalidValue("filterType", sentence("field.must-be-one-of-values", { values: FILTER_TYPES.join(", ") }));
  const expression = input.logicalExpression ?? null;
  if (expression !== null && typeof expression !== "string") {
    throw invalidValue("logicalExpression", sentence("field.must-be-a-string"));
  }
  if (filterType === "LOGICAL_EXPRESSION") parseLogicalExpression(expression ?? "", filters.length);
  return {
    filterType,
    filters,
    logicalExpression: expression,
    baseDeviceGroupIds,
    hasLostBases: Number(input.lostReferences ?? 0) > 0,
    additionIds: parseTexts(input.additionIds, "additionIds", MAX_NAMED_DEVICES),
    exclusionIds: parseTexts(input.exclusionIds, "exclusionIds", MAX_NAMED_DEVICES),
  };
}

function parseTexts(input: unknown, field: string, max: number): string[] {
  if (input === null || input === undefined) return [];
  if (!Array.isArray(input) || !input.every((item) => typeof item === "string")) {
    throw invalidValue(field, sentence("field.must-be-a-list-of-strings"));
  }
  if (input.length > max) throw invalidValue(field, sentence("field.must-have-at-most-limit-items", { limit: max }));
  return input;
}

/**
 * Predicate of a group's filters: OR any, AND all, ACCEPT every device, REJECT none. OR and AND without filters match all
 * devices of the base groups, and nothing without base groups, so that an unfinished group never means everyone.
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

/** Evaluates predicates until one returns `end`. Called so often that it must not allocate. */
function shortCircuit(tests: readonly DevicePredicate[], end: boolean): DevicePredicate {
  return (device) => {
    for (const test of tests) if (test(device) === end) return end;
    return !end;
  };
}

/**
 * Compiles groups that may be based on each other; a base group that is not among them has no members.
 * Members = (filters over the members of the base groups, or over all devices without base groups) + additions - exclusions; of a
 * group whose base groups were all deleted the filters select none.
 * A group is evaluated at most twice per device, whatever the base groups are; a cycle ends there.
 * @source docs/decisions/0011-device-groups.md, Filters
 */
export function compileGroups(groups: ReadonlyMap<string, GroupDefinition>): ReadonlyMap<string, CompiledGroup> {
  const compiled = new Map<string, CompiledGroup>();
  const patterns: CompiledPatterns = new Map();
  for (const [id, group] of groups) compiled.set(id, compileGroup(group, compiled, patterns));
  return compiled;
}

/** Compiles one group; base groups are looked up in `others` at evaluation, so that these may change. */
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
    bases.length === 0
      ? () => !group.hasLostBases
      : (device) => bases.some((id) => others.get(id)?.containsCached(device) ?? false);
  const isNamed = (ids: ReadonlySet<string>, device: FilterableDevice): boolean =>
    ids.size > 0 && ids.has(normalizeIcopId(device.icopId));
  const decide: DevicePredicate = (device) =>
    !isNamed(exclusions, device) && (isNamed(additions, device) || (inBase(device) && passes(device)));
  const self = {};
  const containsCached: DevicePredicate = (device) => {
    const { groupResults } = evaluationCacheOf(device);
    const known = groupResults.get(self);
    if (known !== undefined) return known;
    // Set before evaluating, so that a cycle of base groups ends here without a member.
    groupResults.set(self, false);
    const answer = decide(device);
    groupResults.set(self, answer);
    return answer;
  };
  // A group without base groups is evaluated often; caching would cost more than it saves.
  const contains = bases.length === 0 ? decide : containsCached;
  const isCostly = bases.length > 0 || group.filters.some(({ comparison }) => comparison === "MATCHES_REGEX");
  return { contains, containsCached, isCostly };
}

function normalizeIcopId(icopId: string): string {
  return icopId.toLowerCase();
}
