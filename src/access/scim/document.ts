import {
  type Attribute,
  attributeOf,
  COMMON,
  ENTERPRISE_SCHEMA,
  GROUP_SCHEMA,
  type Schema,
  USER_SCHEMA,
} from "./attributes.ts";
import { ScimRefusal } from "./refusal.ts";

/** A kind of resource: its core schema and what extends it. */
export interface ResourceType {
  name: "User" | "Group";
  /** Where it is served, below the base. */
  endpoint: "/Users" | "/Groups";
  schema: Schema;
  extensions: readonly Schema[];
}

/** Users. */
export const USERS: ResourceType = {
  name: "User",
  endpoint: "/Users",
  schema: USER_SCHEMA,
  extensions: [ENTERPRISE_SCHEMA],
};
/** Groups. */
export const GROUPS: ResourceType = { name: "Group", endpoint: "/Groups", schema: GROUP_SCHEMA, extensions: [] };

/** What clients may write of a resource, by canonical names; what an extension adds lies below its URN. */
export type Document = Record<string, unknown>;

/** An attribute that a path names; `extension` is the URN where it is not of the core. */
export interface Target {
  extension: string | null;
  attribute: Attribute;
  sub: Attribute | null;
}

/** own choice: a text of an attribute, values of one, and all of a resource as JSON. */
const MOST_SIGNS = 2_000;
const MOST_VALUES = 100;
const MOST_DOCUMENT = 32_768;

/** The attribute of a path such as `name.familyName`, with a schema's URN before it or without; null when there is none. */
export function targetOf({ schema, extensions }: ResourceType, path: string): Target | null {
  for (const { id, attributes } of extensions) {
    const rest = behind(id, path);
    if (rest !== null) return within(attributes, rest, id);
  }
  return within([...COMMON, ...schema.attributes], behind(schema.id, path) ?? path, null);
}

/** The extension whose URN a text is, whatever its case. */
export function extensionOf({ extensions }: ResourceType, name: string): Schema | null {
  return extensions.find(({ id }) => id.toLowerCase() === name.toLowerCase()) ?? null;
}

/**
 * What a body says of a resource: known attributes that clients may write, in canonical form. own choice: others are passed
 * over. Throws ScimRefusal `invalidSyntax`, `invalidValue`.
 */
export function readDocument(type: ResourceType, body: unknown): Document {
  if (!isObject(body)) throw new ScimRefusal("invalidSyntax", "The body is no object.");
  const document = readMembers([...COMMON, ...type.schema.attributes], body);
  for (const [name, value] of Object.entries(body)) {
    const extension = extensionOf(type, name);
    if (!extension || !isObject(value)) continue;
    const members = readMembers(extension.attributes, value);
    if (Object.keys(members).length > 0) document[extension.id] = members;
  }
  checkSize(document);
  return document;
}

/** Throws ScimRefusal `invalidValue` for a document that is too large. */
export function checkSize(document: Document): void {
  if (JSON.stringify(document).length > MOST_DOCUMENT) throw new ScimRefusal("invalidValue", "It says too much.");
}

/**
 * A value of an attribute as it is kept: texts, true or false (also as the texts "True" and "False"), an object, or a list.
 * Undefined for nothing. Throws ScimRefusal `invalidValue`.
 */
export function readValue(attribute: Attribute, value: unknown): unknown {
  if (!attribute.multiValued) return readOne(attribute, value);
  if (value === null || value === undefined) return undefined;
  const values = Array.isArray(value) ? value : [value];
  if (values.length > MOST_VALUES) throw wrong(attribute, `It has at most ${MOST_VALUES} values.`);
  const read = values.flatMap((each) => readOne(attribute, each) ?? []);
  return read.length === 0 ? undefined : onePrimary(read as Document[]);
}

/** One value of an attribute. Throws ScimRefusal `invalidValue`. */
export function readOne(attribute: Attribute, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (attribute.type === "boolean") return readBoolean(attribute, value);
  if (attribute.type === "complex") return readComplex(attribute, value);
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    throw wrong(attribute, "It is a text.");
  }
  const text = String(value);
  if (text.length > MOST_SIGNS) throw wrong(attribute, `It has at most ${MOST_SIGNS} signs.`);
  return text === "" ? undefined : text;
}

/** At most one value is the primary one: the last that says so, of the `newer` ones if one of them does. @source RFC 7643 §2.4 */
export function onePrimary(values: readonly Document[], newer: readonly Document[] = []): Document[] {
  const lastNew = values.findLastIndex((value) => value.primary === true && newer.includes(value));
  const last = lastNew < 0 ? values.findLastIndex(({ primary }) => primary === true) : lastNew;
  return values.map((value, at) => (value.primary === true && at !== last ? { ...value, primary: false } : value));
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function behind(urn: string, path: string): string | null {
  return path.toLowerCase().startsWith(`${urn.toLowerCase()}:`) ? path.slice(urn.length + 1) : null;
}

function within(attributes: readonly Attribute[], path: string, extension: string | null): Target | null {
  const [name = "", subName, ...more] = path.split(".");
  const attribute = attributeOf(attributes, name);
  if (!attribute || more.length > 0) return null;
  if (subName === undefined) return { extension, attribute, sub: null };
  const sub = attributeOf(attribute.subAttributes ?? [], subName);
  return sub && { extension, attribute, sub };
}

function readMembers(attributes: readonly Attribute[], given: Readonly<Record<string, unknown>>): Document {
  const read: Document = {};
  for (const [name, value] of Object.entries(given)) {
    const attribute = attributeOf(attributes, name);
    if (!attribute || attribute.mutability === "readOnly") continue;
    const kept = readValue(attribute, value);
    if (kept !== undefined) read[attribute.name] = kept;
  }
  return read;
}

function readBoolean(attribute: Attribute, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  const word = typeof value === "string" ? value.toLowerCase() : "";
  if (word !== "true" && word !== "false") throw wrong(attribute, "It is true or false.");
  return word === "true";
}

function readComplex(attribute: Attribute, value: unknown): Document | undefined {
  const subs = attribute.subAttributes ?? [];
  const isBare = typeof value === "string" && attributeOf(subs, "value") !== null;
  if (!isBare && !isObject(value)) throw wrong(attribute, "It is an object.");
  const read = readMembers(subs, isBare ? (value === "" ? {} : { value }) : (value as Record<string, unknown>));
  return Object.keys(read).length === 0 ? undefined : read;
}

function wrong({ name }: Attribute, detail: string): ScimRefusal {
  return new ScimRefusal("invalidValue", `Attribute ${name} is not valid. ${detail}`);
}
