import { type Attribute, attributeOf } from "./attributes.ts";
import { type Document, isObject, type ResourceType, type Target, targetOf } from "./document.ts";
import type { Comparison, Filter, Literal } from "./filter.ts";
import { ScimRefusal } from "./refusal.ts";

/** A resource that may be listed: its key, and what it says of itself without its memberships. */
export interface Candidate {
  pk: number;
  document: Document;
}

/** Keys of the resources that a membership joins with the one that has an id. */
export type Related = (id: string) => ReadonlySet<number>;

/** Attributes that are memberships, which stand in rows of their own. */
const MEMBERSHIPS: ReadonlySet<string> = new Set(["members", "groups"]);
/** Attributes that an index finds. */
const KEYS: ReadonlySet<string> = new Set(["id", "externalId", "userName", "displayName"]);

/**
 * Compiles a filter. own choice: of members, and of a user's groups, only the id can be asked, by eq. Throws ScimRefusal
 * `invalidFilter`. @source RFC 7644 §3.4.2.2
 */
export function compileFilter(type: ResourceType, filter: Filter, related: Related): (candidate: Candidate) => boolean {
  if (filter.op === "and" || filter.op === "or") {
    const tests = filter.all.map((each) => compileFilter(type, each, related));
    return filter.op === "and"
      ? (candidate) => tests.every((test) => test(candidate))
      : (candidate) => tests.some((test) => test(candidate));
  }
  if (filter.op === "not") {
    const test = compileFilter(type, filter.filter, related);
    return (candidate) => !test(candidate);
  }
  const target = targetOf(type, filter.path);
  if (!target) throw new ScimRefusal("invalidFilter", `There is no attribute ${filter.path}.`);
  if (MEMBERSHIPS.has(target.attribute.name)) return membershipTest(target, filter, related);
  if (filter.op === "one") {
    if (!target.attribute.multiValued) throw new ScimRefusal("invalidFilter", `${filter.path} has one value.`);
    return ({ document }) =>
      membersOf(document, target).some((value) => isObject(value) && matches(filter.filter, value));
  }
  if (filter.op === "pr") return ({ document }) => valuesOf(document, target).length > 0;
  const { op, value } = filter;
  const compared = value === null ? null : compares(op === "ne" ? "eq" : op, target.sub ?? target.attribute, value);
  const isMet = ({ document }: Candidate): boolean => {
    const values = valuesOf(document, target);
    return compared === null ? values.length === 0 : values.some(compared);
  };
  return op === "ne" ? (candidate) => !isMet(candidate) : isMet;
}

/** The value by which an index finds all that a filter can admit; null when each resource has to be looked at. */
export function keyIn(type: ResourceType, filter: Filter): { name: string; value: string } | null {
  if (filter.op === "and") {
    for (const each of filter.all) {
      const key = keyIn(type, each);
      if (key) return key;
    }
  }
  if (filter.op !== "eq" || typeof filter.value !== "string") return null;
  const target = targetOf(type, filter.path);
  const isKey = target !== null && target.extension === null && KEYS.has(target.attribute.name);
  return isKey ? { name: target.attribute.name, value: filter.value } : null;
}

/**
 * Whether a value of a multi-valued attribute fulfils a filter over its sub-attributes. Texts compare without case.
 * Throws ScimRefusal `invalidFilter` for what reaches beyond the value. @source RFC 7644 §3.5.2
 */
export function matches(filter: Filter, value: Document): boolean {
  switch (filter.op) {
    case "and":
      return filter.all.every((each) => matches(each, value));
    case "or":
      return filter.all.some((each) => matches(each, value));
    case "not":
      return !matches(filter.filter, value);
    case "one":
      throw new ScimRefusal("invalidFilter", "A filter in brackets holds no further one.");
    default: {
      const member = memberOf(value, filter.path);
      if (filter.op === "pr") return member !== undefined;
      if (filter.value === null) return (filter.op === "ne") === (member !== undefined);
      const isMet = member !== undefined && compares(filter.op === "ne" ? "eq" : filter.op, null, filter.value)(member);
      return filter.op === "ne" ? !isMet : isMet;
    }
  }
}

/** The members that a value must have to fulfil a filter that is a conjunction of equalities; null for other filters. */
export function wantedBy(filter: Filter): Document | null {
  if (filter.op === "eq") return { [filter.path]: filter.value };
  if (filter.op !== "and") return null;
  const parts = filter.all.map(wantedBy);
  return parts.every((part) => part !== null) ? Object.assign({}, ...parts) : null;
}

/** The values that an attribute, or its sub-attribute, has in a document. */
export function valuesOf(document: Document, target: Target): unknown[] {
  const { attribute, sub } = target;
  const name = sub?.name ?? attributeOf(attribute.subAttributes ?? [], "value")?.name;
  const values = membersOf(document, target);
  const read = attribute.type === "complex" && name ? values.map((value) => (value as Document)[name]) : values;
  return read.filter((value) => value !== undefined);
}

function membersOf(document: Document, { extension, attribute }: Target): unknown[] {
  const holder = extension === null ? document : (document[extension] as Document | undefined);
  const value = holder?.[attribute.name];
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function membershipTest(target: Target, filter: Filter, related: Related): (candidate: Candidate) => boolean {
  const inner = filter.op === "one" ? filter.filter : filter;
  const path = filter.op === "one" && "path" in inner ? inner.path : (target.sub?.name ?? "value");
  if (inner.op !== "eq" || path.toLowerCase() !== "value" || typeof inner.value !== "string") {
    throw new ScimRefusal("invalidFilter", "Of memberships only the id can be asked: members eq, groups eq.");
  }
  const pks = related(inner.value.toLowerCase());
  return ({ pk }) => pks.has(pk);
}

function compares(op: Comparison, attribute: Attribute | null, literal: Literal): (value: unknown) => boolean {
  const read = readerOf(attribute);
  const wanted = read(literal);
  const test = TESTS[op];
  return (value) => test(read(value), wanted);
}

const TESTS: Readonly<Record<Comparison, (value: string, wanted: string) => boolean>> = {
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

/** How values of an attribute are compared; ids in any case, since they are written in one. */
function readerOf(attribute: Attribute | null): (value: unknown) => string {
  if (attribute?.type === "dateTime") {
    return (value) => {
      const at = Date.parse(String(value));
      if (Number.isNaN(at)) throw new ScimRefusal("invalidFilter", "A time is compared with a time.");
      return new Date(at).toISOString();
    };
  }
  if (attribute?.caseExact && attribute.name !== "id") return String;
  return (value) => String(value).toLowerCase();
}

function memberOf(value: Document, path: string): unknown {
  const name = path.toLowerCase();
  return Object.entries(value).find(([key]) => key.toLowerCase() === name)?.[1];
}
