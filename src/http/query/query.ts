import { invalidValue } from "../../lib/errors.ts";
import { isUuid } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import { camelCase } from "../../schema/decoder.ts";
import { parseBrackets } from "../body/bracket-parser.ts";

/**
 * Query parameters: camelCase names with strings, lists and nested objects of strings; `include…` flags are booleans.
 */
export type Query = Readonly<Record<string, unknown>>;

/** No parameters. */
export const NO_QUERY: Query = Object.freeze({});

/**
 * Names that begin like flags but have values.
 * @source docs/decisions/0042-api-contract.md, `/v1/users`, `/v1/notifications`
 */
export const NON_FLAG_INCLUDES =
  /^include(Types|Applications|LoadSourceIds|NotificationTypes|ByMessageTemplateIds|EndpointIds)$/;

/**
 * Parses a query string (without `?`); kebab-case names become camelCase, range suffixes are kept. A flag `includeX`
 * is true for "true", otherwise false.
 * @source docs/decisions/0001-lists-and-paging.md
 */
export function parseQuery(text: string): Query {
  if (text === "") return NO_QUERY;
  const query: Record<string, unknown> = {};
  for (const [given, value] of Object.entries(parseBrackets(text))) {
    const name = camelCase(given);
    query[name] =
      /^include[A-Z]/.test(name) && !NON_FLAG_INCLUDES.test(name) && typeof value === "string"
        ? value === "true"
        : value;
  }
  return query;
}

/** A string parameter, null if absent. Throws invalid-value for lists and objects. */
export function textParameter(query: Query, name: string): string | null {
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  if (value === undefined) return null;
  if (typeof value !== "string") throw invalidValue(name, sentence("field.must-be-given-exactly-once-as-a-string"));
  return value;
}

/** An integer parameter, null if absent. Throws invalid-value outside `min` to `max`. */
export function integerParameter(query: Query, name: string, min: number, max: number): number | null {
  const text = textParameter(query, name);
  if (text === null) return null;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max))
    throw invalidValue(name, sentence("field.must-be-between-min-and-max", { min, max }));
  return value;
}

/** Ids given as `name[]=…`, repeated, or single; null if absent. Throws invalid-value unless all are UUIDs. */
export function idListParameter(query: Query, name: string): string[] | null {
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  if (value === undefined) return null;
  const ids = Array.isArray(value) ? value : [value];
  if (!ids.every(isUuid)) throw invalidValue(name, sentence("field.must-be-uuids"));
  return ids;
}
