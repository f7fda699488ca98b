import { isJsonObject } from "../lib/json.ts";
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

/** A SCIM resource type: its core schema and extensions. */
export interface ScimResourceType {
  name: "User" | "Group";
  /** Path below the base URL. */
  endpoint: "/Users" | "/Groups";
  schema: ScimSchema;
  extensions: readonly ScimSchema[];
}

/** The resource type User. */
export const USER_RESOURCE_TYPE: ScimResourceType = {
  name: "User",
  endpoint: "/Users",
  schema: USER_SCHEMA,
  extensions: [ENTERPRISE_SCHEMA],
};
/** The resource type Group. */
export const GROUP_RESOURCE_TYPE: ScimResourceType = {
  name: "Group",
  endpoint: "/Groups",
  schema: GROUP_SCHEMA,
  extensions: [],
};

/** The client-writable attributes of a resource, by canonical names; those of an extension are below its URN. */
export type ScimDocument = Record<string, unknown>;

/** The attribute that a path names; `extension` is the URN of its extension, null for core attributes. */
export interface AttributeTarget {
  extension: string | null;
  attribute: ScimAttribute;
  sub: ScimAttribute | null;
}

/** Limits of a text, of the values of an attribute, and of a whole document as JSON. */
const MAX_TEXT_LENGTH = 2_000;
const MAX_VALUES = 100;
const MAX_DOCUMENT_LENGTH = 32_768;

/** Resolves a path such as `name.familyName`, with or without a schema URN; null if the attribute does not exist. */
export function resolveAttribute({ schema, extensions }: ScimResourceType, path: string): AttributeTarget | null {
  for (const { id, attributes } of extensions) {
    const rest = stripUrn(id, path);
    if (rest !== null) return findTarget(attributes, rest, id);
  }
  return findTarget([...COMMON_ATTRIBUTES, ...schema.attributes], stripUrn(schema.id, path) ?? path, null);
}

/** Finds an extension by its URN, ignoring case. */
export function findExtension({ extensions }: ScimResourceType, name: string): ScimSchema | null {
  return extensions.find(({ id }) => id.toLowerCase() === name.toLowerCase()) ?? null;
}

/**
 * Parses a request body to a document in canonical form. Unknown and read-only attributes are ignored. Throws
 * ScimRequestError `invalidSyntax`, `invalidValue`.
 */
export function parseDocument(type: ScimResourceType, body: unknown): ScimDocument {
  if (!isJsonObject(body)) throw new ScimRequestError("invalidSyntax", "The body must be a JSON object.");
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

/** Throws ScimRequestError `invalidValue` for a document above the size limit. */
export function assertDocumentSize(document: ScimDocument): void {
  if (JSON.stringify(document).length > MAX_DOCUMENT_LENGTH)
    throw new ScimRequestError(
      "invalidValue",
      `The resource must not be larger than ${MAX_DOCUMENT_LENGTH} characters of JSON.`,
    );
}

/**
 * Parses the value of an attribute: text, boolean (also the texts "True" and "False"), object, or list. Undefined if it
 * is empty. Throws ScimRequestError `invalidValue`.
 */
export function parseAttributeValue(attribute: ScimAttribute, value: unknown): unknown {
  if (!attribute.multiValued) return parseSingleValue(attribute, value);
  if (value === null || value === undefined) return undefined;
  const values = Array.isArray(value) ? value : [value];
  if (values.length > MAX_VALUES) throw invalidAttribute(attribute, `Must have at most ${MAX_VALUES} values.`);
  const read = values.flatMap((each) => parseSingleValue(attribute, each) ?? []);
  return read.length === 0 ? undefined : normalizePrimary(read as ScimDocument[]);
}

/** Parses a single value of an attribute. Throws ScimRequestError `invalidValue`. */
export function parseSingleValue(attribute: ScimAttribute, value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (attribute.type === "boolean") return parseBoolean(attribute, value);
  if (attribute.type === "complex") return parseComplex(attribute, value);
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    throw invalidAttribute(attribute, "Must be a string.");
  }
  const text = String(value);
  if (text.length > MAX_TEXT_LENGTH)
    throw invalidAttribute(attribute, `Must have at most ${MAX_TEXT_LENGTH} characters.`);
  return text === "" ? undefined : text;
}

/** Keeps at most one primary value: the last one, preferring values in `newer`. @source RFC 7643 §2.4 */
export function normalizePrimary(values: readonly ScimDocument[], newer: readonly ScimDocument[] = []): ScimDocument[] {
  const lastNew = values.findLastIndex((value) => value.primary === true && newer.includes(value));
  const last = lastNew < 0 ? values.findLastIndex(({ primary }) => primary === true) : lastNew;
  return values.map((value, at) => (value.primary === true && at !== last ? { ...value, primary: false } : value));
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
    const parsed = parseAttributeValue(attribute, value);
    if (parsed !== undefined) read[attribute.name] = parsed;
  }
  return read;
}

function parseBoolean(attribute: ScimAttribute, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  const text = typeof value === "string" ? value.toLowerCase() : "";
  if (text !== "true" && text !== "false") throw invalidAttribute(attribute, "Must be true or false.");
  return text === "true";
}

function parseComplex(attribute: ScimAttribute, value: unknown): ScimDocument | undefined {
  const subs = attribute.subAttributes ?? [];
  const isBare = typeof value === "string" && findAttribute(subs, "value") !== null;
  if (!isBare && !isJsonObject(value)) throw invalidAttribute(attribute, "Must be an object.");
  const read = parseMembers(subs, isBare ? (value === "" ? {} : { value }) : (value as Record<string, unknown>));
  return Object.keys(read).length === 0 ? undefined : read;
}

function invalidAttribute({ name }: ScimAttribute, detail: string): ScimRequestError {
  return new ScimRequestError("invalidValue", `Attribute ${name} is not valid. ${detail}`);
}
