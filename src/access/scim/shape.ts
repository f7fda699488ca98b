import type { Document, ResourceType, Target } from "./document.ts";
import { targetOf } from "./document.ts";

/** Which attributes of a resource an answer has. */
export interface Shape {
  /** Whether an attribute of the core is part of it. */
  has(name: string): boolean;
  /** The attributes that are part of it; the id and the schemas always are. */
  of(document: Document): Document;
}

/** Everything. */
const WHOLE: Shape = { has: () => true, of: (document) => document };

const ALWAYS: ReadonlySet<string> = new Set(["id", "schemas"]);

/**
 * Reads the parameters `attributes`, which names what is wanted, and `excludedAttributes`, what is not; the first one wins.
 * Names that there are not are passed over, and so is a parameter without any. @source RFC 7644 §3.9
 */
export function readShape(type: ResourceType, attributes: string | null, excluded: string | null): Shape {
  if (attributes) {
    const wanted = targetsIn(type, attributes);
    return {
      has: (name) =>
        ALWAYS.has(name) || wanted.some(({ extension, attribute }) => extension === null && attribute.name === name),
      of: (document) => onlyOf(document, wanted),
    };
  }
  if (!excluded) return WHOLE;
  const left = targetsIn(type, excluded).filter(
    ({ extension, attribute }) => extension !== null || !ALWAYS.has(attribute.name),
  );
  return {
    has: (name) => !left.some(({ extension, attribute, sub }) => extension === null && !sub && attribute.name === name),
    of: (document) => without(document, left),
  };
}

function targetsIn(type: ResourceType, names: string): Target[] {
  return names.split(",").flatMap((name) => targetOf(type, name.trim()) ?? []);
}

function onlyOf(document: Document, wanted: readonly Target[]): Document {
  const kept: Document = Object.fromEntries(Object.entries(document).filter(([name]) => ALWAYS.has(name)));
  for (const { extension, attribute, sub } of wanted) {
    const value = holderOf(document, extension)?.[attribute.name];
    if (value === undefined) continue;
    let holder = kept;
    if (extension !== null) {
      holder = (kept[extension] ?? {}) as Document;
      kept[extension] = holder;
    }
    const part = sub ? eachValue(value, (member) => ({ [sub.name]: member[sub.name] })) : value;
    const before = holder[attribute.name];
    const joins = sub !== null && !Array.isArray(part) && typeof before === "object";
    holder[attribute.name] = joins ? { ...before, ...(part as Document) } : part;
  }
  return kept;
}

function without(document: Document, left: readonly Target[]): Document {
  const kept = structuredClone(document);
  for (const { extension, attribute, sub } of left) {
    const holder = holderOf(kept, extension);
    if (!holder || holder[attribute.name] === undefined) continue;
    if (!sub) delete holder[attribute.name];
    else holder[attribute.name] = eachValue(holder[attribute.name], ({ [sub.name]: _gone, ...others }) => others);
  }
  return kept;
}

function holderOf(document: Document, extension: string | null): Document | undefined {
  return extension === null ? document : (document[extension] as Document | undefined);
}

function eachValue(value: unknown, change: (member: Document) => Document): unknown {
  return Array.isArray(value) ? value.map((each) => change(each as Document)) : change(value as Document);
}
