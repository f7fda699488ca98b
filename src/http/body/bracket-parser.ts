import qs from "qs";
import { CallerError } from "../../lib/errors.ts";

/** Maximum number of pairs of a form: twice the longest list of references. */
const MAX_PAIRS = 10_000;
/** Maximum nesting depth of a name. */
const MAX_DEPTH = 10;
/** Different bracketed names and their opening brackets together. Each costs an object, and so time. */
const MAX_OBJECTS = 5_000;

/** The values of each name in order, of plain and of bracketed names. A name with `[]` behind it always has a list. */
interface Values {
  plain: Map<string, string | string[]>;
  bracketed: Map<string, string | string[]>;
}

/**
 * Nests the bracketed names of a query or an encoded form: `a[b]=1` is `{a: {b: "1"}}`, `a[]=1&a[]=2` and `a=1&a=2` are
 * `{a: ["1", "2"]}`, `a[0][b]=1` is `{a: [{b: "1"}]}`. Values stay texts; a name that is both text and object, too many
 * pairs and too deep names are refused (CallerError invalid-value).
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
    if (plain.has(name)) throw tooComplex("A parameter must not be both a string and an object.");
  }
  return { ...Object.fromEntries(plain), ...nested };
}

function nestValues(values: ReadonlyMap<string, string | string[]>): Record<string, unknown> {
  const options = { depth: MAX_DEPTH, strictDepth: true, parseArrays: false };
  try {
    const nested = qs.parse(Object.fromEntries(values) as unknown as Record<string, string>, options);
    return Object.fromEntries(Object.entries(nested).map(([name, value]) => [name, withLists(value)]));
  } catch (error) {
    if (error instanceof RangeError)
      throw tooComplex(`Parameter names may be nested at most ${MAX_DEPTH} levels deep.`);
    throw error;
  }
}

function groupByName(pairs: Iterable<readonly [name: string, value: string]>): Values {
  const values: Values = { plain: new Map(), bracketed: new Map() };
  let count = 0;
  let objects = 0;
  for (const [given, value] of pairs) {
    count += 1;
    if (count > MAX_PAIRS) throw tooComplex(`At most ${MAX_PAIRS} parameters are allowed.`);
    const name = given.endsWith("[]") ? given.slice(0, -2) : given;
    const group = name.includes("[") ? values.bracketed : values.plain;
    const existing = group.get(name);
    if (Array.isArray(existing)) existing.push(value);
    else if (existing !== undefined) group.set(name, [existing, value]);
    else {
      if (group === values.bracketed) objects += name.split("[").length;
      if (objects > MAX_OBJECTS) throw tooComplex(`At most ${MAX_OBJECTS} nested objects and lists are allowed.`);
      group.set(name, name === given ? value : [value]);
    }
  }
  return values;
}

/** Objects whose keys are all numbers become lists, in numeric order. */
function withLists(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(withLists);
  // Numbers come first and in their order.
  const members = Object.entries(value).map(([name, member]) => [name, withLists(member)] as const);
  const numbered = members.length > 0 && members.every(([name]) => /^\d{1,6}$/.test(name));
  return numbered ? members.map(([, member]) => member) : Object.fromEntries(members);
}

function tooComplex(message: string): CallerError {
  return new CallerError("invalid-value", message);
}
