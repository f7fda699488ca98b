import { isJsonObject } from "../lib/json.ts";
import { type AttributeTarget, resolveAttribute, type ScimDocument, type ScimResourceType } from "./document.ts";
import type { ScimFilter, ScimLiteral, ScimOperator } from "./filter-parser.ts";
import { findAttribute, type ScimAttribute } from "./schemas.ts";
import { ScimRequestError } from "./scim-error.ts";

/** A resource to filter: its internal key and its document without memberships. */
export interface ScimCandidate {
  pk: number;
  document: ScimDocument;
}

/** Internal keys of the resources that share a membership with the given id. */
export type RelatedKeys = (id: string) => ReadonlySet<number>;

/** Membership attributes, which are stored in separate rows. */
const MEMBERSHIP_ATTRIBUTES: ReadonlySet<string> = new Set(["members", "groups"]);
/** Attributes with a database index. */
const INDEXED_ATTRIBUTES: ReadonlySet<string> = new Set(["id", "externalId", "userName", "displayName"]);

/**
 * Compiles a filter. Memberships (`members`, `groups`) support only `eq` on the id. Throws ScimRequestError
 * `invalidFilter`.
 * @source RFC 7644 §3.4.2.2
 */
export function compileScimFilter(
  type: ScimResourceType,
  filter: ScimFilter,
  related: RelatedKeys,
): (candidate: ScimCandidate) => boolean {
  if (filter.op === "and" || filter.op === "or") {
    const tests = filter.all.map((each) => compileScimFilter(type, each, related));
    return filter.op === "and"
      ? (candidate) => tests.every((test) => test(candidate))
      : (candidate) => tests.some((test) => test(candidate));
  }
  if (filter.op === "not") {
    const test = compileScimFilter(type, filter.filter, related);
    return (candidate) => !test(candidate);
  }
  const target = resolveAttribute(type, filter.path);
  if (!target) throw new ScimRequestError("invalidFilter", `Attribute ${filter.path} does not exist.`);
  if (MEMBERSHIP_ATTRIBUTES.has(target.attribute.name)) return compileMembershipTest(target, filter, related);
  if (filter.op === "one") {
    if (!target.attribute.multiValued)
      throw new ScimRequestError(
        "invalidFilter",
        `Attribute ${filter.path} is not multi-valued; a value filter is not allowed.`,
      );
    return ({ document }) =>
      readMembers(document, target).some((value) => isJsonObject(value) && matchesScimFilter(filter.filter, value));
  }
  if (filter.op === "pr") return ({ document }) => readAttributeValues(document, target).length > 0;
  const { op, value } = filter;
  const comparison =
    value === null ? null : compileComparison(op === "ne" ? "eq" : op, target.sub ?? target.attribute, value);
  const isMet = ({ document }: ScimCandidate): boolean => {
    const values = readAttributeValues(document, target);
    return comparison === null ? values.length === 0 : values.some(comparison);
  };
  return op === "ne" ? (candidate) => !isMet(candidate) : isMet;
}

/** The indexed attribute and value that limit a filter's matches; null if a scan is needed. */
export function findIndexKey(type: ScimResourceType, filter: ScimFilter): { name: string; value: string } | null {
  if (filter.op === "and") {
    for (const each of filter.all) {
      const key = findIndexKey(type, each);
      if (key) return key;
    }
  }
  if (filter.op !== "eq" || typeof filter.value !== "string") return null;
  const target = resolveAttribute(type, filter.path);
  const isKey = target !== null && target.extension === null && INDEXED_ATTRIBUTES.has(target.attribute.name);
  return isKey ? { name: target.attribute.name, value: filter.value } : null;
}

/**
 * Evaluates a filter on one value of a multi-valued attribute; texts compare without case. Throws ScimRequestError
 * `invalidFilter` for a nested value filter.
 * @source RFC 7644 §3.5.2
 */
export function matchesScimFilter(filter: ScimFilter, value: ScimDocument): boolean {
  switch (filter.op) {
    case "and":
      return filter.all.every((each) => matchesScimFilter(each, value));
    case "or":
      return filter.all.some((each) => matchesScimFilter(each, value));
    case "not":
      return !matchesScimFilter(filter.filter, value);
    case "one":
      throw new ScimRequestError("invalidFilter", "Value filters must not be nested.");
    default: {
      const member = readMember(value, filter.path);
      if (filter.op === "pr") return member !== undefined;
      if (filter.value === null) return (filter.op === "ne") === (member !== undefined);
      const isMet =
        member !== undefined && compileComparison(filter.op === "ne" ? "eq" : filter.op, null, filter.value)(member);
      return filter.op === "ne" ? !isMet : isMet;
    }
  }
}

/** The members required by a filter that is a conjunction of equalities; null for other filters. */
export function requiredMembers(filter: ScimFilter): ScimDocument | null {
  if (filter.op === "eq") return { [filter.path]: filter.value };
  if (filter.op !== "and") return null;
  const parts = filter.all.map(requiredMembers);
  return parts.every((part) => part !== null) ? Object.assign({}, ...parts) : null;
}

/** Reads the values of an attribute or sub-attribute in a document. */
export function readAttributeValues(document: ScimDocument, target: AttributeTarget): unknown[] {
  const { attribute, sub } = target;
  const name = sub?.name ?? findAttribute(attribute.subAttributes ?? [], "value")?.name;
  const values = readMembers(document, target);
  const read = attribute.type === "complex" && name ? values.map((value) => (value as ScimDocument)[name]) : values;
  return read.filter((value) => value !== undefined);
}

function readMembers(document: ScimDocument, { extension, attribute }: AttributeTarget): unknown[] {
  const holder = extension === null ? document : (document[extension] as ScimDocument | undefined);
  const value = holder?.[attribute.name];
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function compileMembershipTest(
  target: AttributeTarget,
  filter: ScimFilter,
  related: RelatedKeys,
): (candidate: ScimCandidate) => boolean {
  const inner = filter.op === "one" ? filter.filter : filter;
  const path = filter.op === "one" && "path" in inner ? inner.path : (target.sub?.name ?? "value");
  if (inner.op !== "eq" || path.toLowerCase() !== "value" || typeof inner.value !== "string") {
    throw new ScimRequestError("invalidFilter", "Memberships can be filtered by id only: members eq, groups eq.");
  }
  const pks = related(inner.value.toLowerCase());
  return ({ pk }) => pks.has(pk);
}

function compileComparison(
  op: ScimOperator,
  attribute: ScimAttribute | null,
  literal: ScimLiteral,
): (value: unknown) => boolean {
  const read = comparableReader(attribute);
  const wanted = read(literal);
  const test = TESTS[op];
  return (value) => test(read(value), wanted);
}

const TESTS: Readonly<Record<ScimOperator, (value: string, wanted: string) => boolean>> = {
  eq: (value, wanted) => value === wanted,
  ne: (value, wanted) => value !== wanted,
  co: (value, wanted) => value.includes(wanted),
  sw: (value, wanted) => value.startsWith(wanted),
  ew: (value, wanted) => value.endsWith(wanted),
  gt: (value, wanted) => value > wanted,
  ge: (value, wanted) => value >= wanted,
  lt: (value, wanted) => value < wanted,
  le: (value, wanted) => value <= wanted,
};

/** Converts values of an attribute for comparison; ids ignore case. */
function comparableReader(attribute: ScimAttribute | null): (value: unknown) => string {
  if (attribute?.type === "dateTime") {
    return (value) => {
      const at = Date.parse(String(value));
      if (Number.isNaN(at))
        throw new ScimRequestError(
          "invalidFilter",
          "A dateTime attribute must be compared with an ISO 8601 timestamp.",
        );
      return new Date(at).toISOString();
    };
  }
  if (attribute?.caseExact && attribute.name !== "id") return String;
  return (value) => String(value).toLowerCase();
}

function readMember(value: ScimDocument, path: string): unknown {
  const name = path.toLowerCase();
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1];
}
