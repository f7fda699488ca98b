import {
  COMMON_ATTRIBUTES,
  ENTERPRISE_SCHEMA,
  findAttribute,
  GROUP_SCHEMA,
  type ScimAttribute,
  type ScimSchema,
  USER_SCHEMA,
} from "./schemas.ts";
import { ScimRequestError } from "./scim-error.ts";

/** A kind of resource: its core schema and what extends it. */
export interface ScimResourceType {
  name: "User" | "Group";
  /** Where it is served, below the base. */
  endpoint: "/Users" | "/Groups";
  schema: ScimSchema;
  extensions: readonly ScimSchema[];
}

/** Users. */
export const USER_RESOURCE_TYPE: ScimResourceType = {
  name: "User",
  endpoint: "/Users",
  schema: USER_SCHEMA,
  extensions: [ENTERPRISE_SCHEMA],
};
/** Groups. */
export const GROUP_RESOURCE_TYPE: ScimResourceType = {
  name: "Group",
  endpoint: "/Groups",
  schema: GROUP_SCHEMA,
  extensions: [],
};

/** What clients may write of a resource, by canonical names; what an extension adds lies below its URN. */
export type ScimDocument = Record<string, unknown>;

/** An attribute that a path names; `extension` is the URN where it is not of the core. */
export interface AttributeTarget {
  extension: string | null;
  attribute: ScimAttribute;
  sub: ScimAttribute | null;
}

/** own choice: a text of an attribute, values of one, and all of a resource as JSON. */
const MAX_TEXT_LENGTH = 2_000;
const MAX_VALUES = 100;
const MAX_DOCUMENT_LENGTH = 32_768;

/** The attribute of a path such as `name.familyName`, with a schema's URN before it or without; null when there is none. */
export function resolveAttribute({ schema, extensions }: ScimResourceType, path: string): AttributeTarget | null {
  for (const { id, attributes } of extensions) {
    const rest = stripUrn(id, path);
    if (rest !== null) return findTarget(attributes, rest, id);
  }
  return findTarget([...COMMON_ATTRIBUTES, ...schema.attributes], stripUrn(schema.id, path) ?? path, null);
}

/** The extension whose URN a text is, whatever its case. */
export function findExtension({ extensions }: ScimResourceType, name: string): ScimSchema | null {
  return extensions.find(({ id }) => id.toLowerCase() === name.toLowerCase()) ?? null;
}

/**
 * What a body says of a resource: known attributes that clients may write, in canonical form. own choice: others are passed
 * over. Throws ScimRequestError `invalidSyntax`, `invalidValue`.
 */
export function parseDocument(type: ScimResourceType, body: unknown): ScimDocument {
  if (!isJsonObject(body)) throw new ScimRequestError("invalidSyntax", "The body is no object.");
  const document = parseMembers([...COMMON_ATTRIBUTES, ...type.schema.attributes], body);
  for (const [name, value] of Object.entries(body)) {
    const extension = findExtension(type, name);
    if (!extension || !isJsonObject(value)) continue;
    const members = parseMembers(extension.attributes, value);
    if (Object.keys(members).length > 0) document[extension.id] = members;
  }
  assertDocumentSize(document);
  return document;
}

/** Throws ScimRequestError `invalidValue` for a document that is too large. */
export function assertDocumentSize(document: ScimDocument): void {
  if (JSON.stringify(document).length > MAX_DOCUMENT_LENGTH)
    throw new ScimRequestError("invalidValue", "It says too much.");
}

/**
 * A value of an attribute as it is kept: texts, true or false (also as the texts "True" and "False"), an object, or a list.
 * Undefined for nothing. Throws ScimRequestError `invalidValue`.
 */
export function parseAttributeValue(attribute: ScimAttribute, value: unknown): unknown {
  if (!attribute.multiValued) return parseSingleValue(attribute, value);
  if (value === null || value === undefined) return undefined;
  const values = Array.isArray(value) ? value : [value];
  if (values.length > MAX_VALUES) throw invalidAttribute(attribute, `It has at most ${MAX_VALUES} values.`);
  const read = values.flatMap((each) => parseSingleValue(attribute, each) ?? []);
  return read.length === 0 ? undefined : normalizePrimary(read as ScimDocument[]);
}

/** One value of an attribute. Throws ScimRequestError `invalidValue`. */
export function parseSingleValue(attribute: ScimAttribute, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (attribute.type === "boolean") return parseBoolean(attribute, value);
  if (attribute.type === "complex") return parseComplex(attribute, value);
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    throw invalidAttribute(attribute, "It is a text.");
  }
  const text = String(value);
  if (text.length > MAX_TEXT_LENGTH) throw invalidAttribute(attribute, `It has at most ${MAX_TEXT_LENGTH} signs.`);
  return text === "" ? undefined : text;
}

/** At most one value is the primary one: the last that says so, of the `newer` ones if one of them does. @source RFC 7643 §2.4 */
export function normalizePrimary(values: readonly ScimDocument[], newer: readonly ScimDocument[] = []): ScimDocument[] {
  const lastNew = values.findLastIndex((value) => value.primary === true && newer.includes(value));
  const last = lastNew < 0 ? values.findLastIndex(({ primary }) => primary === true) : lastNew;
  return values.map((value, at) => (value.primary === true && at !== last ? { ...value, primary: false } : value));
}

/** True for a JSON object. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function stripUrn(urn: string, path: string): string | null {
  return path.toLowerCase().startsWith(`${urn.toLowerCase()}:`) ? path.slice(urn.length + 1) : null;
}

function findTarget(
  attributes: readonly ScimAttribute[],
  path: string,
  extension: string | null,
): AttributeTarget | null {
  const [name = "", subName, ...more] = path.split(".");
  const attribute = findAttribute(attributes, name);
  if (!attribute || more.length > 0) return null;
  if (subName === undefined) return { extension, attribute, sub: null };
  const sub = findAttribute(attribute.subAttributes ?? [], subName);
  return sub && { extension, attribute, sub };
}

function parseMembers(attributes: readonly ScimAttribute[], given: Readonly<Record<string, unknown>>): ScimDocument {
  const read: ScimDocument = {};
  for (const [name, value] of Object.entries(given)) {
    const attribute = findAttribute(attributes, name);
    if (!attribute || attribute.mutability === "readOnly") continue;
    const kept = parseAttributeValue(attribute, value);
    if (kept !== undefined) read[attribute.name] = kept;
  }
  return read;
}

function parseBoolean(attribute: ScimAttribute, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  const word = typeof value === "string" ? value.toLowerCase() : "";
  if (word !== "true" && word !== "false") throw invalidAttribute(attribute, "It is true or false.");
  return word === "true";
}

function parseComplex(attribute: ScimAttribute, value: unknown): ScimDocument | undefined {
  const subs = attribute.subAttributes ?? [];
  const isBare = typeof value === "string" && findAttribute(subs, "value") !== null;
  if (!isBare && !isJsonObject(value)) throw invalidAttribute(attribute, "It is an object.");
  const read = parseMembers(subs, isBare ? (value === "" ? {} : { value }) : (value as Record<string, unknown>));
  return Object.keys(read).length === 0 ? undefined : read;
}

function invalidAttribute({ name }: ScimAttribute, detail: string): ScimRequestError {
  return new ScimRequestError("invalidValue", `Attribute ${name} is not valid. ${detail}`);
}
