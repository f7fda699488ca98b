import type { Field } from "./field.ts";

/** A JSON Schema (draft 2020-12) as plain JSON. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * JSON Schema of an object with `fields`, for forms and tools, without internal fields. Extensions: `x-ref` (name of
 * the referenced resource), `x-create-only`, `x-unit`, `x-presets` (elements that a form offers), and `x-file` {types, maxBytes} (the value is the size). Null
 * clears an optional field.
 */
export function jsonSchemaOf(fields: Readonly<Record<string, Field>>): JsonSchema {
  const shown = Object.entries(fields).filter(([, field]) => field.kind !== "internal");
  const required = shown.filter(([, field]) => field.required).map(([name]) => name);
  return {
    type: "object",
    properties: Object.fromEntries(shown.map(([name, field]) => [name, schemaOf(field)])),
    ...(required.length > 0 ? { required } : {}),
  };
}

/** The JSON Schema of one field, as for `jsonSchemaOf`. */
export function schemaOf(field: Field): JsonSchema {
  return {
    ...valueSchema(field),
    description: field.doc,
    ...("default" in field && field.default !== undefined ? { default: field.default } : {}),
    ...(field.readOnly ? { readOnly: true } : {}),
    ...(field.createOnly ? { "x-create-only": true } : {}),
    ...(field.unit === undefined ? {} : { "x-unit": field.unit }),
  };
}

function valueSchema(field: Field): JsonSchema {
  switch (field.kind) {
    case "text":
      return {
        type: "string",
        ...(field.min === undefined ? {} : { minLength: field.min }),
        maxLength: field.max,
        ...formatOf(field.format),
      };
    case "integer":
    case "number":
      return { type: field.kind, minimum: field.min, maximum: field.max };
    case "boolean":
      return { type: "boolean" };
    case "timestamp":
      return { type: "string", format: "date-time" };
    case "date":
      return { type: "string", format: "date" };
    case "option":
      return { type: "string", enum: field.values };
    case "uuid":
      return { type: "string", format: "uuid" };
    case "ref":
      return { type: "string", format: "uuid", "x-ref": field.to };
    case "secret":
      return { type: "string", maxLength: field.max, writeOnly: true };
    case "computed":
      return field.type === "timestamp" ? { type: "string", format: "date-time" } : { type: typeOf(field.type) };
    default:
      return compositeSchema(field);
  }
}

function compositeSchema(field: Exclude<Field, { kind: "text" | "option" | "computed" }>): JsonSchema {
  switch (field.kind) {
    case "many": {
      const items = { type: "string", format: "uuid" };
      return { type: "array", items, uniqueItems: true, maxItems: field.maxItems, "x-ref": field.to };
    }
    case "list": {
      const least = field.minItems === undefined ? {} : { minItems: field.minItems };
      return { type: "array", items: schemaOf(field.item), ...least, maxItems: field.maxItems };
    }
    case "object":
      return jsonSchemaOf(field.fields);
    case "json":
      return field.presets ? { "x-presets": field.presets } : {};
    case "file":
      return { type: "integer", "x-file": { types: field.types, maxBytes: field.maxBytes } };
    default:
      return {};
  }
}

function typeOf(type: string): string {
  return type === "text" ? "string" : type;
}

function formatOf(format: "email" | "color" | "url" | undefined): JsonSchema {
  if (format === undefined) return {};
  return { format: format === "url" ? "uri" : format };
}
