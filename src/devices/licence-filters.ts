import { invalidValue } from "../base/errors.ts";
import type { Reader } from "../store/store.ts";
import type { DevicePredicate, FilterableDevice } from "./device-filter.ts";
import { compileFilters, type FilterType, readGroup } from "./group-definition.ts";

/** Members of an endpoint's config that choose licensed devices, and the type that each is about. @source decisions.md 5 */
const FILTERS = { phoneFilter: "phones", speakerFilter: "speakers", idnFilter: "idns" } as const;
/** @source service-api.md, Limits */
const MOST_FILTERS = 200;

type Config = Partial<Record<keyof typeof FILTERS, unknown>>;

/** Licensed devices by type; types that nothing is said of are licensed whole. */
export type LicenceTests = Readonly<Partial<Record<string, DevicePredicate>>>;

/**
 * Compiles the licence filters of an endpoint's `config`. Each is `{filterType, filters, logicalExpression}` as in device
 * groups. own choice: an element of `filters` may be a list, whose filters must all match; a filter that is absent or
 * holds nothing licenses every device of its type. Throws CallerError for `config`.
 */
export function readLicenceFilters(config: unknown): LicenceTests {
  if (config === null || config === undefined) return {};
  if (typeof config !== "object" || Array.isArray(config)) throw invalidValue("config", "An object is expected.");
  const tests: Partial<Record<string, DevicePredicate>> = {};
  for (const [name, type] of Object.entries(FILTERS)) {
    const test = compile(name, (config as Config)[name as keyof Config]);
    if (test) tests[type] = test;
  }
  return tests;
}

/** The filters of a config as text: two configs that license the same way by the same words give the same one. */
export function licenceText(config: unknown): string {
  const given = (config ?? {}) as Config;
  const named = Object.keys(FILTERS).flatMap((name) => given[name as keyof Config] ?? []);
  return named.length === 0
    ? ""
    : JSON.stringify(Object.keys(FILTERS).map((name) => given[name as keyof Config] ?? null));
}

/** Says whether the filters of its endpoint include a device; filters are compiled once until they change. */
export function createLicenceCheck(): (reader: Reader, endpointId: string, device: FilterableDevice) => boolean {
  const known = new Map<string, { text: string | null; tests: LicenceTests }>();
  return (reader, endpointId, device) => {
    const text =
      reader.one<{ config: string | null }>("SELECT config FROM endpoints WHERE id = ?", endpointId)?.config ?? null;
    let licence = known.get(endpointId);
    if (!licence || licence.text !== text) {
      licence = { text, tests: readLicenceFilters(text === null ? null : JSON.parse(text)) };
      known.set(endpointId, licence);
    }
    return licence.tests[device.type]?.(device) ?? true;
  };
}

function compile(name: string, given: unknown): DevicePredicate | null {
  if (given === null || given === undefined) return null;
  const { filterType, filters = [], logicalExpression } = given as Record<string, unknown>;
  if (typeof given !== "object" || !Array.isArray(filters)) throw invalidValue("config", `${name}.filters is a list.`);
  const flat: unknown[] = filters.flat();
  if (flat.length > MOST_FILTERS) throw invalidValue("config", `${name} has at most ${MOST_FILTERS} filters.`);
  if (flat.length === 0 && filterType !== "REJECT") return null;
  const nested = filters.some(Array.isArray) ? expressionOf(filters, filterType as FilterType | undefined) : null;
  const group = nested ?? { filterType, logicalExpression };
  try {
    return compileFilters(readGroup({ ...group, filters: flat }));
  } catch (error) {
    throw invalidValue("config", `${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Lists within the list as one expression over the filters in their order: `(1 AND 2) OR 3`. */
function expressionOf(filters: readonly unknown[], filterType: FilterType | undefined): object {
  let number = 0;
  const parts = filters.map((each) => {
    const numbers = (Array.isArray(each) ? each : [each]).map(() => ++number);
    return `(${numbers.join(" AND ")})`;
  });
  const nonEmpty = parts.filter((part) => part !== "()");
  const logicalExpression = nonEmpty.join(filterType === "AND" ? " AND " : " OR ");
  return { filterType: "LOGICAL_EXPRESSION", logicalExpression };
}
