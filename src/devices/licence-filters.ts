import { invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { StoreReader } from "../store/store.ts";
import type { DevicePredicate, FilterableDevice } from "./device-filter.ts";
import { compileFilters, type FilterType, parseGroupDefinition } from "./group-definition.ts";

/** Members of an endpoint's config that select licensed devices, with their device types. @source docs/decisions/0005-users-and-devices.md, Licence filters */
const DEVICE_TYPE_BY_FILTER = { phoneFilter: "phones", speakerFilter: "speakers", idnFilter: "idns" } as const;
/** @source docs/decisions/0042-api-contract.md, Limits */
const MAX_FILTERS = 200;

type Config = Partial<Record<keyof typeof DEVICE_TYPE_BY_FILTER, unknown>>;

/** Licensed devices by type; types without a filter are licensed completely. */
export type LicencePredicates = Readonly<Partial<Record<string, DevicePredicate>>>;

/**
 * Compiles the licence filters of an endpoint's `config`. Each is `{filterType, filters, logicalExpression}` as in device
 * groups; an element of `filters` may be a list of filters that must all match. A missing or empty filter licenses every
 * device of its type. Throws CallerError for `config`.
 */
export function parseLicenceFilters(config: unknown): LicencePredicates {
  if (config === null || config === undefined) return {};
  if (typeof config !== "object" || Array.isArray(config))
    throw invalidValue("config", sentence("field.must-be-an-object"));
  const tests: Partial<Record<string, DevicePredicate>> = {};
  for (const [name, type] of Object.entries(DEVICE_TYPE_BY_FILTER)) {
    const test = compileLicenceFilter(name, (config as Config)[name as keyof Config]);
    if (test) tests[type] = test;
  }
  return tests;
}

/** Canonical text of the filters of a config: equal texts mean equal licensing. */
export function licenceFilterKey(config: unknown): string {
  const given = (config ?? {}) as Config;
  const named = Object.keys(DEVICE_TYPE_BY_FILTER).flatMap((name) => given[name as keyof Config] ?? []);
  return named.length === 0
    ? ""
    : JSON.stringify(Object.keys(DEVICE_TYPE_BY_FILTER).map((name) => given[name as keyof Config] ?? null));
}

/** Creates the check whether the licence filters of an endpoint include a device; compiled filters are cached until they change. */
export function createLicenceCheck(): (reader: StoreReader, endpointId: string, device: FilterableDevice) => boolean {
  const known = new Map<string, { text: string | null; tests: LicencePredicates }>();
  return (reader, endpointId, device) => {
    const text =
      reader.one<{ config: string | null }>("SELECT config FROM endpoints WHERE id = ?", endpointId)?.config ?? null;
    let licence = known.get(endpointId);
    if (!licence || licence.text !== text) {
      licence = { text, tests: parseLicenceFilters(text === null ? null : JSON.parse(text)) };
      known.set(endpointId, licence);
    }
    return licence.tests[device.type]?.(device) ?? true;
  };
}

function compileLicenceFilter(name: string, given: unknown): DevicePredicate | null {
  if (given === null || given === undefined) return null;
  const { filterType, filters = [], logicalExpression } = given as Record<string, unknown>;
  if (typeof given !== "object" || !Array.isArray(filters))
    throw invalidValue("config", sentence("field.name-filters-must-be-a-list", { name }));
  const flat: unknown[] = filters.flat();
  if (flat.length > MAX_FILTERS)
    throw invalidValue("config", sentence("field.name-must-have-at-most-limit-filters", { name, limit: MAX_FILTERS }));
  if (flat.length === 0 && filterType !== "REJECT") return null;
  const nested = filters.some(Array.isArray)
    ? nestedFiltersToExpression(filters, filterType as FilterType | undefined)
    : null;
  const group = nested ?? { filterType, logicalExpression };
  try {
    return compileFilters(parseGroupDefinition({ ...group, filters: flat }));
  } catch (error) {
    throw invalidValue("config", `${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Converts nested lists to one expression over all filters in order: `(1 AND 2) OR 3`. */
function nestedFiltersToExpression(filters: readonly unknown[], filterType: FilterType | undefined): object {
  let number = 0;
  const parts = filters.map((each) => {
    const numbers = (Array.isArray(each) ? each : [each]).map(() => ++number);
    return `(${numbers.join(" AND ")})`;
  });
  const nonEmpty = parts.filter((part) => part !== "()");
  const logicalExpression = nonEmpty.join(filterType === "AND" ? " AND " : " OR ");
  return { filterType: "LOGICAL_EXPRESSION", logicalExpression };
}
