import qs from "qs";
import { CallerError } from "../../lib/errors.ts";
import { sentence } from "../../lib/sentences/sentences.ts";

/** Maximum number of pairs of a form: twice the longest list of references. */
const MAX_PAIRS = 10_000;
/** Maximum nesting depth of a name. */
const MAX_DEPTH = 10;
/** Maximum number of bracketed names and their brackets: each creates an object. */
const MAX_OBJECTS = 5_000;

/** Values by name in order, for plain and bracketed names. A name with `[]` always has a list. */
interface Values {
  plain: Map<string, string | string[]>;
  bracketed: Map<string, string | string[]>;
}

/**
 * Nests the bracketed names of a query or form: `a[b]=1` is `{a: {b: "1"}}`, `a[]=1&a[]=2` and `a=1&a=2` are `{a:
 * ["1", "2"]}`, `a[0][b]=1` is `{a: [{b: "1"}]}`, `a[][b]=1&a[][c]=2&a[][b]=3` is `{a: [{b: "1", c: "2"}, {b: "3"}]}`: a
 * name that the current element has begins the next one. Values stay strings. Throws CallerError invalid-value for a name
 * that is both string and object, too many pairs or too deep nesting.
 */
export function parseBrackets(text: string): Record<string, unknown> {
  return nestPairs(new URLSearchParams(text));
}

/**
 * Same as `parseBrackets` for decoded pairs: the text parts of a multipart body. Values are grouped by name first and
 * lists are built last, because qs takes 12 s for 259 kB of numbered names, and forms are parsed before the caller is
 * authenticated.
 */
export function nestPairs(pairs: Iterable<readonly [name: string, value: string]>): Record<string, unknown> {
  const { plain, bracketed } = groupByName(pairs);
  plain.delete("__proto__");
  const nested = bracketed.size === 0 ? {} : nestValues(bracketed);
  for (const name of Object.keys(nested)) {
    if (plain.has(name)) throw tooComplex(sentence("request.a-parameter-must-not-be-both-a-string-and-an"));
  }
  return { ...Object.fromEntries(plain), ...nested };
}

function nestValues(values: ReadonlyMap<string, string | string[]>): Record<string, unknown> {
  const options = { depth: MAX_DEPTH, strictDepth: true, parseArrays: false };
  try {
    const nested = qs.parse(Object.fromEntries(values) as unknown as Record<string, string>, options);
    return Object.fromEntries(Object.entries(nested).map(([name, value]) => [name, withLists(value)]));
  } catch (error) {
    throw error instanceof RangeError ? tooDeep() : error;
  }
}

function groupByName(pairs: Iterable<readonly [name: string, value: string]>): Values {
  const values: Values = { plain: new Map(), bracketed: new Map() };
  const numbered = createListNumbering();
  let count = 0;
  let objects = 0;
  for (const [raw, value] of pairs) {
    count += 1;
    if (count > MAX_PAIRS)
      throw tooComplex(sentence("request.at-most-limit-parameters-are-allowed", { limit: MAX_PAIRS }));
    const given = raw.includes("[][") ? numbered(raw) : raw;
    const name = given.endsWith("[]") ? given.slice(0, -2) : given;
    const group = name.includes("[") ? values.bracketed : values.plain;
    const existing = group.get(name);
    if (Array.isArray(existing)) existing.push(value);
    else if (existing !== undefined) group.set(name, [existing, value]);
    else {
      if (group === values.bracketed) objects += name.split("[").length;
      if (objects > MAX_OBJECTS)
        throw tooComplex(
          sentence("request.at-most-limit-nested-objects-and-lists-are-allowed", { limit: MAX_OBJECTS }),
        );
      group.set(name, name === given ? value : [value]);
    }
  }
  return values;
}

/** Replaces `[]` before further brackets by the number of the element: `a[][b]` becomes `a[0][b]`. */
function createListNumbering(): (name: string) => string {
  const lists = new Map<string, { at: number; names: Set<string> }>();
  return (name) => {
    const [head = "", ...parts] = name.split("[][");
    if (parts.length > MAX_DEPTH) throw tooDeep();
    return parts.reduce((prefix, part, level) => {
      const list = lists.get(prefix) ?? { at: 0, names: new Set() };
      lists.set(prefix, list);
      // Names of a list within the element repeat without a new element.
      const rest = level < parts.length - 1 || part.endsWith("[]") ? "" : part;
      if (rest !== "" && list.names.has(rest)) {
        list.at += 1;
        list.names.clear();
      }
      list.names.add(rest);
      return `${prefix}[${list.at}][${part}`;
    }, head);
  };
}

/** Objects whose keys are all numbers become lists, in numeric order. */
function withLists(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withLists);
  // Integer keys are enumerated first, in numeric order.
  const members = Object.entries(value).map(([name, member]) => [name, withLists(member)] as const);
  const numbered = members.length > 0 && members.every(([name]) => /^\d{1,6}$/.test(name));
  return numbered ? members.map(([, member]) => member) : Object.fromEntries(members);
}

function tooDeep(): CallerError {
  return tooComplex(sentence("request.parameter-names-may-be-nested-at-most-limit-levels-deep", { limit: MAX_DEPTH }));
}

function tooComplex(message: string): CallerError {
  return new CallerError("invalid-value", message);
}
