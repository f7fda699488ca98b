import { invalidValue } from "../lib/errors.ts";
import type { StoreReader } from "../store/store.ts";
import type { DevicePredicate, FilterableDevice } from "./device-filter.ts";
import { compileFilters, type FilterType, parseGroupDefinition } from "./group-definition.ts";

/** Members of an endpoint's config that choose licensed devices, and the type that each is about. @source decisions.md 5 */
const DEVICE_TYPE_BY_FILTER = { phoneFilter: "phones", speakerFilter: "speakers", idnFilter: "idns" } as const;
/** @source service-api.md, Limits */
const MAX_FILTERS = 200;

type Config = Partial<Record<keyof typeof DEVICE_TYPE_BY_FILTER, unknown>>;

/** Licensed devices by type; types that nothing is said of are licensed whole. */
export type LicencePredicates = Readonly<Partial<Record<string, DevicePredicate>>>;

/**
 * Compiles the licence filters of an endpoint's `config`. Each is `{filterType, filters, logicalExpression}` as in device
 * groups. own choice: an element of `filters` may be a list, whose filters must all match; a filter that is absent or
 * holds nothing licenses every device of its type. Throws CallerError for `config`.
 */
export function parseLicenceFilters(config: unknown): LicencePredicates {
  if (config === null || config === undefined) return {};
  if (typeof config !== "object" || Array.isArray(config)) throw invalidValue("config", "An object is expected.");
  const tests: Partial<Record<string, DevicePredicate>> = {};
  for (const [name, type] of Object.entries(DEVICE_TYPE_BY_FILTER)) {
    const test = compileLicenceFilter(name, (config as Config)[name as keyof Config]);
    if (test) tests[type] = test;
  }
  return tests;
}

/** The filters of a config as text: two configs that license the same way by the same words give the same one. */
export function licenceFilterKey(config: unknown): string {
  const given = (config ?? {}) as Config;
  const named = Object.keys(DEVICE_TYPE_BY_FILTER).flatMap((name) => given[name as keyof Config] ?? []);
  return named.length === 0
    ? ""
    : JSON.stringify(Object.keys(DEVICE_TYPE_BY_FILTER).map((name) => given[name as keyof Config] ?? null));
}

/** Says whether the filters of its endpoint include a device; filters are compiled once until they change. */
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
  if (typeof given !== "object" || !Array.isArray(filters)) throw invalidValue("config", `${name}.filters is a list.`);
  const flat: unknown[] = filters.flat();
  if (flat.length > MAX_FILTERS) throw invalidValue("config", `${name} has at most ${MAX_FILTERS} filters.`);
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

/** Lists within the list as one expression over the filters in their order: `(1 AND 2) OR 3`. */
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
