import { CallerError, invalidValue } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { Field, ListField, ScalarField } from "./field.ts";
import { parseUntrustedJson } from "./untrusted-json.ts";
import { UploadedFile } from "./uploaded-file.ts";

/**
 * Converts a request body to the names and types that the validator expects. Names may be camelCase or kebab-case
 * (camelCase wins); unknown, read-only and internal fields are dropped, `id` is kept.
 */
export interface Decoder {
  /**
   * From parsed JSON: values stay unchanged, including free-form JSON in `json` fields; objects may be JSON text. Throws
   * for anything but an object.
   */
  json(body: unknown): Record<string, unknown>;
  /** From a form with nested names: strings become values of the field types; an empty string clears. */
  form(body: Readonly<Record<string, unknown>>): Record<string, unknown>;
}

type Convert = (value: unknown, name: string) => unknown;

/** Returned by a converter to omit a field. */
const OMITTED = Symbol("nothing");

/** Converts a kebab-case name to camelCase: `message-template-id` is messageTemplateId. */
export function camelCase(name: string): string {
  return name.includes("-") ? name.replace(/-([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) : name;
}

/** The kebab-case spelling of a name: `perUserThrottlingInSecs` is per-user-throttling-in-secs. */
export function kebabCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** Compiles the decoder of a set of fields, once at start. */
export function compileDecoder(fields: Readonly<Record<string, Field>>): Decoder {
  const fromJson = compileMembers(fields, jsonConverter, true);
  const fromForm = compileMembers(fields, formConverter, true);
  return {
    json(body) {
      if (!isObject(body)) throw new CallerError("invalid-value", sentence("error.the-body-must-be-a-json-object"));
      return fromJson(body, "");
    },
    form: (body) => fromForm(body, ""),
  };
}

function compileMembers(
  fields: Readonly<Record<string, Field>>,
  converter: (field: Field) => Convert,
  withId: boolean,
): (body: Readonly<Record<string, unknown>>, prefix: string) => Record<string, unknown> {
  const members = new Map<string, Convert>();
  for (const [name, field] of Object.entries(fields)) {
    if (!field.readOnly && field.kind !== "internal" && field.kind !== "computed") members.set(name, converter(field));
  }
  if (withId) members.set("id", (value) => value);
  return (body, prefix) => {
    const input: Record<string, unknown> = {};
    for (const [given, value] of Object.entries(body)) {
      const name = members.has(given) ? given : camelCase(given);
      const convert = members.get(name);
      if (!convert || (name !== given && Object.hasOwn(body, name))) continue;
      const converted = convert(value, `${prefix}${name}`);
      if (converted !== OMITTED) input[name] = converted;
    }
    return input;
  };
}

function jsonConverter(field: Field): Convert {
  if (field.kind === "object") {
    const members = compileMembers(field.fields, jsonConverter, false);
    return (given, name) => {
      const value = parsedText(given, name);
      return isObject(value) ? members(value, `${name}.`) : value;
    };
  }
  if (field.kind === "json" && field.items) return itemsConverter(UNCHANGED);
  if (field.kind === "json" && field.fromText) return parsedText;
  // No id is empty: clients clear a reference this way, in forms and in JSON.
  if (field.kind === "ref" || field.kind === "uuid") return (value) => (value === "" ? null : value);
  // The size shown for a file may be sent back and means no change.
  if (field.kind === "file") return (value) => (Number.isInteger(value) ? OMITTED : value);
  return (value) => value;
}

function formConverter(field: Field): Convert {
  switch (field.kind) {
    case "object":
      return objectConverter(field.fields);
    case "json":
      if (field.items) return itemsConverter(compileMembers(field.items, formConverter, true));
      return parsedText;
    case "many":
      return (value) => elementsOf(value);
    case "list":
      return listConverter(field);
    case "file":
      return (value) => (value === "" ? null : value);
    case "integer":
    case "number":
    case "boolean":
      return scalarConverter(field);
    default:
      return (value) => (value === "" ? null : value);
  }
}

function objectConverter(fields: Readonly<Record<string, Field>>): Convert {
  const fromForm = compileMembers(fields, formConverter, false);
  const fromJson = compileMembers(fields, jsonConverter, false);
  return (value, name) => {
    if (isObject(value)) return fromForm(value, `${name}.`);
    const parsed = parsedText(value, name);
    return isObject(parsed) ? fromJson(parsed, `${name}.`) : parsed;
  };
}

/**
 * A list of objects, of which each, or the whole list, may be JSON text.
 * @source docs/decisions/0042-api-contract.md, `/v1/notifications` (`additionalDeviceRecipients`)
 */
function itemsConverter(members: ReturnType<typeof compileMembers>): Convert {
  return (given, name) => {
    const value = parsedText(given, name);
    if (typeof given === "string" || !Array.isArray(value)) return value;
    if (value.length === 1 && value[0] === "") return [];
    return value.map((item: unknown, at) => {
      const place = `${name}[${at}]`;
      return isObject(item) ? members(item, `${place}.`) : parsedText(item, place);
    });
  };
}

/** Some clients send objects in JSON as JSON text. */
const parsedText: Convert = (value, name) => (typeof value === "string" ? jsonOf(value, name) : value);

const UNCHANGED: ReturnType<typeof compileMembers> = (item) => item;

function listConverter(field: ListField): Convert {
  const item = scalarConverter(field.item);
  return (value, name) => {
    const elements = elementsOf(value);
    return Array.isArray(elements) ? elements.map((element) => item(element, name)) : elements;
  };
}

/** A single value is a list of one, a single empty string the empty list. */
function elementsOf(value: unknown): unknown {
  if (value === "" || (Array.isArray(value) && value.length === 1 && value[0] === "")) return [];
  return typeof value === "string" ? [value] : value;
}

function scalarConverter(field: ScalarField): Convert {
  const type = field.kind;
  return (value) => {
    if (value === "") return null;
    if (typeof value !== "string") return value;
    if (type === "boolean") return value === "true";
    if (type === "integer" && /^-?\d{1,16}$/.test(value)) return Number(value);
    if (type === "number" && /^-?\d{1,30}(\.\d{1,30})?$/.test(value)) return Number(value);
    return value;
  };
}

function jsonOf(text: string, name: string): unknown {
  if (text === "") return null;
  try {
    return parseUntrustedJson(text);
  } catch {
    throw invalidValue(name, sentence("field.must-be-json"));
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof UploadedFile);
}
