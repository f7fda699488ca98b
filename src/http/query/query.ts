import { invalidValue } from "../../lib/errors.ts";
import { isUuid } from "../../lib/ids.ts";
import { camelCase } from "../../schema/decoder.ts";
import { parseBrackets } from "../body/bracket-parser.ts";

/** Query parameters: camelCase names to texts, arrays and nested objects of texts; `include…` flags are booleans. */
export type Query = Readonly<Record<string, unknown>>;

const NOTHING: Query = Object.freeze({});

/** Names that begin as flags do and hold values. @source digest `/v1/users`, `/v1/notifications` */
export const NON_FLAG_INCLUDES =
  /^include(Types|Applications|LoadSourceIds|NotificationTypes|ByMessageTemplateIds|EndpointIds)$/;

/**
 * Reads a query string (without `?`); names in kebab-case come out in camelCase, range suffixes stay. A flag
 * `includeX` is true for "true" and false for every other text. @source decisions.md 1
 */
export function parseQuery(text: string): Query {
  if (text === "") return NOTHING;
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

/** A parameter that may stand once: null when it is absent. Throws invalid-value for arrays and objects. */
export function textParameter(query: Query, name: string): string | null {
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  if (value === undefined) return null;
  if (typeof value !== "string") throw invalidValue(name, "It must stand once, as a text.");
  return value;
}

/** A whole number that may stand once: null when it is absent. Throws invalid-value for all that is not from `least` to `most`. */
export function integerParameter(query: Query, name: string, least: number, most: number): number | null {
  const text = textParameter(query, name);
  if (text === null) return null;
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= least && value <= most)) throw invalidValue(name, `It is ${least} to ${most}.`);
  return value;
}

/** Ids given as `name[]=…`, repeated, or once; null when absent. Throws invalid-value for what is no UUID. */
export function idListParameter(query: Query, name: string): string[] | null {
  const value = Object.hasOwn(query, name) ? query[name] : undefined;
  if (value === undefined) return null;
  const ids = Array.isArray(value) ? value : [value];
  if (!ids.every(isUuid)) throw invalidValue(name, "They must be UUIDs.");
  return ids;
}
