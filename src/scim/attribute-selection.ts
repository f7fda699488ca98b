import type { AttributeTarget, ScimDocument, ScimResourceType } from "./document.ts";
import { resolveAttribute } from "./document.ts";

/** Which attributes of a resource an answer has. */
export interface AttributeSelection {
  /** Whether an attribute of the core is part of it. */
  has(name: string): boolean;
  /** The attributes that are part of it; the id and the schemas always are. */
  apply(document: ScimDocument): ScimDocument;
}

/** Everything. */
const ALL_ATTRIBUTES: AttributeSelection = { has: () => true, apply: (document) => document };

const REQUIRED_ATTRIBUTES: ReadonlySet<string> = new Set(["id", "schemas"]);

/**
 * Reads the parameters `attributes`, which names what is wanted, and `excludedAttributes`, what is not; the first one wins.
 * Names that there are not are passed over, and so is a parameter without any. @source RFC 7644 §3.9
 */
export function parseAttributeSelection(
  type: ScimResourceType,
  attributes: string | null,
  excluded: string | null,
): AttributeSelection {
  if (attributes) {
    const wanted = resolveAttributes(type, attributes);
    return {
      has: (name) =>
        REQUIRED_ATTRIBUTES.has(name) ||
        wanted.some(({ extension, attribute }) => extension === null && attribute.name === name),
      apply: (document) => pickAttributes(document, wanted),
    };
  }
  if (!excluded) return ALL_ATTRIBUTES;
  const left = resolveAttributes(type, excluded).filter(
    ({ extension, attribute }) => extension !== null || !REQUIRED_ATTRIBUTES.has(attribute.name),
  );
  return {
    has: (name) => !left.some(({ extension, attribute, sub }) => extension === null && !sub && attribute.name === name),
    apply: (document) => omitAttributes(document, left),
  };
}

function resolveAttributes(type: ScimResourceType, names: string): AttributeTarget[] {
  return names.split(",").flatMap((name) => resolveAttribute(type, name.trim()) ?? []);
}

function pickAttributes(document: ScimDocument, wanted: readonly AttributeTarget[]): ScimDocument {
  const kept: ScimDocument = Object.fromEntries(
    Object.entries(document).filter(([name]) => REQUIRED_ATTRIBUTES.has(name)),
  );
  for (const { extension, attribute, sub } of wanted) {
    const value = attributeHolder(document, extension)?.[attribute.name];
    if (value === undefined) continue;
    let holder = kept;
    if (extension !== null) {
      holder = (kept[extension] ?? {}) as ScimDocument;
      kept[extension] = holder;
    }
    const part = sub ? mapValues(value, (member) => ({ [sub.name]: member[sub.name] })) : value;
    const before = holder[attribute.name];
    const joins = sub !== null && !Array.isArray(part) && typeof before === "object";
    holder[attribute.name] = joins ? { ...before, ...(part as ScimDocument) } : part;
  }
  return kept;
}

function omitAttributes(document: ScimDocument, left: readonly AttributeTarget[]): ScimDocument {
  const kept = structuredClone(document);
  for (const { extension, attribute, sub } of left) {
    const holder = attributeHolder(kept, extension);
    if (!holder || holder[attribute.name] === undefined) continue;
    if (!sub) delete holder[attribute.name];
    else holder[attribute.name] = mapValues(holder[attribute.name], ({ [sub.name]: _gone, ...others }) => others);
  }
  return kept;
}

function attributeHolder(document: ScimDocument, extension: string | null): ScimDocument | undefined {
  return extension === null ? document : (document[extension] as ScimDocument | undefined);
}

function mapValues(value: unknown, change: (member: ScimDocument) => ScimDocument): unknown {
  return Array.isArray(value) ? value.map((each) => change(each as ScimDocument)) : change(value as ScimDocument);
}
