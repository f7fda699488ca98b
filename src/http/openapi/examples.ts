import type { JsonSchema } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { EXAMPLE_BODIES } from "./example-bodies.ts";
import { EXAMPLE_VALUES } from "./example-values.ts";
import { objectSchema, requestMembers } from "./field-schemas.ts";

const FORMATS: Readonly<Record<string, string>> = {
  uuid: "0190b7c2-7f3a-7000-8000-3f1d2c4b5a69",
  "date-time": "2026-01-12T08:00:00.000Z",
  date: "2026-01-12",
  email: "name@example.org",
  uri: "https://example.org/",
  color: "#0A7F00",
};
const SAMPLE_TEXT = "Fire drill";

/**
 * An example row for a schema that follows the known rules of the resource. A body (`isBody`) names no rows where it need not: there
 * may be none on the appliance of the reader.
 */
export function rowExample(resourceName: string, schema: JsonSchema, isBody = false): unknown {
  const example = objectExample(schema);
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  if (isBody) for (const [name, member] of Object.entries(properties)) if (isOptionalId(member)) example[name] = null;
  for (const name of Object.keys(example)) {
    const known = EXAMPLE_VALUES[`${resourceName}.${name}`];
    if (known !== undefined) example[name] = known;
  }
  return example;
}

/**
 * An example body of an operation (`post users/{userId}/tokens`) whose schema is not a component: known values of the operation
 * or of the resource, and others by their schema.
 */
export function bodyExample(operation: string, schema: JsonSchema, resource: AnyResource | null): unknown {
  const known = EXAMPLE_BODIES[operation];
  if (known !== undefined) return known;
  const parts = (schema.allOf ?? [schema]) as readonly JsonSchema[];
  const inline = Object.assign({}, ...parts.map((part) => rowExample(resource?.name ?? "", part, true))) as object;
  const component = resource && schema.allOf ? objectSchema(requestMembers(resource.fields, "create")) : null;
  return component && resource ? { ...(rowExample(resource.name, component, true) as object), ...inline } : inline;
}

function isOptionalId({ format, type }: JsonSchema): boolean {
  return format === "uuid" && Array.isArray(type) && type.includes("null");
}

/** An example value for a schema; null where allowed, related rows and lists of objects are empty. */
function exampleOf(schema: JsonSchema): unknown {
  if (Array.isArray(schema.anyOf) || "$ref" in schema) return null;
  if ("default" in schema) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "object":
      return objectExample(schema);
    case "array":
      return listExample(schema);
    case "boolean":
      return false;
    case "integer":
    case "number":
      return typeof schema.minimum === "number" ? Math.max(schema.minimum, 0) : 0;
    case "string":
      return textExample(schema);
    default:
      return null;
  }
}

function objectExample(schema: JsonSchema): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const required = (schema.required ?? []) as readonly string[];
  return Object.fromEntries(
    Object.entries(properties).map(([name, member]) => [
      name,
      exampleOf(withRequiredItem(member, required.includes(name))),
    ]),
  );
}

/** A list that is required must not be empty. */
function withRequiredItem(schema: JsonSchema, isRequired: boolean): JsonSchema {
  const { items, minItems = 0 } = schema as { items?: JsonSchema; minItems?: number };
  return isRequired && items?.format === "uuid" && minItems === 0 ? { ...schema, minItems: 1 } : schema;
}

function listExample({ items, minItems = 0 }: JsonSchema): unknown[] {
  const item = (items ?? {}) as JsonSchema;
  const isAboutRows = item.type === "object" || "$ref" in item || item.type === undefined || item.format === "uuid";
  if (minItems === 0 && isAboutRows) return [];
  return Array.from({ length: Math.max(1, Number(minItems)) }, () => exampleOf(item));
}

function textExample({ format, minLength = 0, maxLength = SAMPLE_TEXT.length }: JsonSchema): string {
  const known = typeof format === "string" ? FORMATS[format] : undefined;
  return known ?? SAMPLE_TEXT.padEnd(Number(minLength), ".").slice(0, Number(maxLength));
}
