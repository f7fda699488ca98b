import { invalidValue } from "../../lib/errors.ts";
import { isUuid } from "../../lib/ids.ts";
import { sentence } from "../../lib/sentences/sentences.ts";
import type { Field } from "../../schema/field.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { parseQueryTimestamp } from "../../schema/timestamp.ts";
import type { FieldFilter } from "../../store/store.ts";
import { NON_FLAG_INCLUDES, type Query, textParameter } from "./query.ts";

/** A filter parameter. */
export interface FilterRule {
  field: string;
  op: FieldFilter["op"];
  /** True if it accepts several values, of which one must match. */
  several: boolean;
  /** Throws invalid-value for an impossible value. */
  read: (text: string, name: string) => Scalar;
}

type Scalar = string | number | boolean | null;

const RANGES = ["gt", "gte", "lt", "lte"] as const;
const ORDERED = new Set<Field["kind"]>(["integer", "number", "timestamp", "date"]);
const TIMESTAMP: Field = { kind: "timestamp", doc: "Base column." };
const DOMAIN: Field = { kind: "uuid", doc: "Domain of the row." };

const MAX_FILTER_VALUES = 200;

/** Filter and sort fields: declared fields and base columns. */
export function filterableFields(resource: AnyResource): Readonly<Record<string, Field>> {
  const inDomain = resource.scope === "domain" ? { domainId: DOMAIN } : {};
  return { ...resource.fields, createdAt: TIMESTAMP, updatedAt: TIMESTAMP, ...inDomain };
}

/**
 * Filter parameters of a resource by name: `field` for equality, `field__gt __gte __lt __lte` for timestamps and
 * numbers, `hasAudio` for presence, `types` or `userIds` for one of several values. A list of references
 * (`distributionListIds`) matches if it contains one of the ids; `includeTypes` is an alias of `types`; names of
 * fields take precedence.
 * @source docs/decisions/0001-lists-and-paging.md; docs/decisions/0042-api-contract.md, `/v1/users`,
 * `/v1/message-templates`
 */
export function compileFilterRules(resource: AnyResource): ReadonlyMap<string, FilterRule> {
  const rules = new Map<string, FilterRule>();
  const derived = new Map<string, FilterRule>();
  for (const [field, spec] of Object.entries(filterableFields(resource))) {
    if (spec.kind === "file" || spec.kind === "ref" || spec.kind === "json") {
      derived.set(presenceName(field), { field, op: "set", several: false, read: (text) => text === "true" });
    }
    const read = filterReader(spec);
    if (!read || spec.filter === false) continue;
    rules.set(field, { field, op: "eq", several: spec.kind === "many", read });
    if (ORDERED.has(spec.kind)) {
      for (const op of RANGES) rules.set(`${field}__${op}`, { field, op, several: false, read });
    } else if (spec.kind === "ref" || spec.kind === "option" || field === "type") {
      for (const name of pluralNames(field)) derived.set(name, { field, op: "eq", several: true, read });
    }
  }
  return new Map([...derived, ...rules]);
}

/** `hasConfirmationRequest` for confirmationRequestId, `hasFloorPlan` for floorPlanImage. */
function presenceName(field: string): string {
  return `has${capital(field.replace(/(Id|Image)$/, ""))}`;
}

function pluralNames(field: string): string[] {
  const included = `include${capital(field)}s`;
  return NON_FLAG_INCLUDES.test(included) ? [`${field}s`, included] : [`${field}s`];
}

function capital(name: string): string {
  return `${name[0]?.toUpperCase()}${name.slice(1)}`;
}

/** Filters of a query according to `rules`. Throws invalid-value. */
export function filtersOf(query: Query, rules: ReadonlyMap<string, FilterRule>): FieldFilter[] {
  const filters: FieldFilter[] = [];
  for (const name of Object.keys(query)) {
    const rule = rules.get(name);
    if (rule) filters.push(rule.several ? anyOf(query, name, rule) : single(query, name, rule));
  }
  return filters;
}

function single(query: Query, name: string, { field, op, read }: FilterRule): FieldFilter {
  // A flag was already parsed as a boolean.
  const text = typeof query[name] === "boolean" ? String(query[name]) : (textParameter(query, name) ?? "");
  // An empty value matches rows without a value.
  if (text === "" && op !== "eq") throw invalidValue(name, sentence("field.requires-a-value-to-compare-with"));
  return { field, op, value: text === "" ? null : read(text, name) };
}

/** Values given as `name[]=…`, repeated, as a JSON list, or single. */
function anyOf(query: Query, name: string, { field, op, read }: FilterRule): FieldFilter {
  const texts = textsOf(query[name], name);
  if (texts.length === 1) return { field, op, value: texts[0] === "" ? null : read(texts[0] as string, name) };
  if (texts.length > MAX_FILTER_VALUES)
    throw invalidValue(name, sentence("field.must-have-at-most-limit-values", { limit: MAX_FILTER_VALUES }));
  return { field, op: "in", value: [...new Set(texts.map((text) => read(text, name)))] };
}

function textsOf(value: unknown, name: string): string[] {
  const list = typeof value === "string" && value.startsWith("[") ? jsonList(value, name) : value;
  const texts = Array.isArray(list) ? list : [list];
  if (texts.length === 0 || !texts.every((text) => typeof text === "string")) {
    throw invalidValue(name, sentence("field.must-be-a-string-or-a-list-of-strings"));
  }
  return texts;
}

function jsonList(text: string, name: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidValue(name, sentence("field.must-be-a-json-list-if-it-begins-with"));
  }
}

/** Parser of a filter value; null for fields without filters. */
function filterReader(field: Field): FilterRule["read"] | null {
  switch (field.kind) {
    case "text":
      return (text) => text;
    case "option":
      return textReader((text) => field.values.includes(text));
    case "uuid":
    case "ref":
    case "many":
      return idOf;
    case "date":
      return textReader((text) => /^\d{4}-\d{2}-\d{2}$/.test(text));
    case "boolean":
      return (text) => text === "true";
    case "integer":
      return numberReader(/^-?\d{1,15}$/);
    case "number":
      return numberReader(/^-?\d{1,30}(\.\d{1,30})?$/);
    case "timestamp":
      return timestampOf;
    default:
      return null;
  }
}

function textReader(fits: (text: string) => boolean): FilterRule["read"] {
  return (text, name) => {
    if (!fits(text)) throw invalidValue(name, sentence("field.must-be-a-possible-value-of-this-field"));
    return text;
  };
}

/** An id; `null` matches rows without one. */
function idOf(text: string, name: string): string | null {
  if (text === "null") return null;
  if (!isUuid(text)) throw invalidValue(name, sentence("field.must-be-a-uuid-or-null-for-rows-without-one"));
  return text.toLowerCase();
}

function numberReader(pattern: RegExp): FilterRule["read"] {
  return (text, name) => {
    if (!pattern.test(text)) throw invalidValue(name, sentence("field.must-be-a-number"));
    return Number(text);
  };
}

/** Epoch ms of an ISO 8601 timestamp with a zone, or of the start of a date in UTC. */
function timestampOf(text: string, name: string): number {
  const at = parseQueryTimestamp(text);
  if (at === null) throw invalidValue(name, sentence("field.must-be-a-timestamp-such-as-2026-01-12t09-00-00-000z"));
  return at;
}
