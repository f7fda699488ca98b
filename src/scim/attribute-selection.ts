import type { AttributeTarget, ScimDocument, ScimResourceType } from "./document.ts";
import { resolveAttribute } from "./document.ts";

/** Selects the attributes of a resource in a response. */
export interface AttributeSelection {
  /** True when the response includes this core attribute. */
  has(name: string): boolean;
  /** Removes the attributes that are not selected; `id` and `schemas` always stay. */
  apply(document: ScimDocument): ScimDocument;
}

/** Selects all attributes. */
const ALL_ATTRIBUTES: AttributeSelection = { has: () => true, apply: (document) => document };

const REQUIRED_ATTRIBUTES: ReadonlySet<string> = new Set(["id", "schemas"]);

/**
 * Parses the parameters `attributes` and `excludedAttributes`; the first one wins. Unknown names are ignored. @source
 * RFC 7644 §3.9
 */
export function parseAttributeSelection(
  type: ScimResourceType,
  attributes: string | null,
  excluded: string | null,
): AttributeSelection {
  if (attributes) {
    const selected = resolveAttributes(type, attributes);
    return {
      has: (name) =>
        REQUIRED_ATTRIBUTES.has(name) ||
        selected.some(({ extension, attribute }) => extension === null && attribute.name === name),
      apply: (document) => pickAttributes(document, selected),
    };
  }
  if (!excluded) return ALL_ATTRIBUTES;
  const omitted = resolveAttributes(type, excluded).filter(
    ({ extension, attribute }) => extension !== null || !REQUIRED_ATTRIBUTES.has(attribute.name),
  );
  return {
    has: (name) =>
      !omitted.some(({ extension, attribute, sub }) => extension === null && !sub && attribute.name === name),
    apply: (document) => omitAttributes(document, omitted),
  };
}

function resolveAttributes(type: ScimResourceType, names: string): AttributeTarget[] {
  return names.split(",").flatMap((name) => resolveAttribute(type, name.trim()) ?? []);
}

function pickAttributes(document: ScimDocument, wanted: readonly AttributeTarget[]): ScimDocument {
  const result: ScimDocument = Object.fromEntries(
    Object.entries(document).filter(([name]) => REQUIRED_ATTRIBUTES.has(name)),
  );
  for (const { extension, attribute, sub } of wanted) {
    const value = attributeHolder(document, extension)?.[attribute.name];
    if (value === undefined) continue;
    let holder = result;
    if (extension !== null) {
      holder = (result[extension] ?? {}) as ScimDocument;
      result[extension] = holder;
    }
    const part = sub ? mapValues(value, (member) => ({ [sub.name]: member[sub.name] })) : value;
    const before = holder[attribute.name];
    const joins = sub !== null && !Array.isArray(part) && typeof before === "object";
    holder[attribute.name] = joins ? { ...before, ...(part as ScimDocument) } : part;
  }
  return result;
}

function omitAttributes(document: ScimDocument, left: readonly AttributeTarget[]): ScimDocument {
  const result = structuredClone(document);
  for (const { extension, attribute, sub } of left) {
    const holder = attributeHolder(result, extension);
    if (!holder || holder[attribute.name] === undefined) continue;
    if (!sub) delete holder[attribute.name];
    else holder[attribute.name] = mapValues(holder[attribute.name], ({ [sub.name]: _gone, ...others }) => others);
  }
  return result;
}

function attributeHolder(document: ScimDocument, extension: string | null): ScimDocument | undefined {
  return extension === null ? document : (document[extension] as ScimDocument | undefined);
}

function mapValues(value: unknown, change: (member: ScimDocument) => ScimDocument): unknown {
  return Array.isArray(value) ? value.map((each) => change(each as ScimDocument)) : change(value as ScimDocument);
}
