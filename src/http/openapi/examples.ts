import type { JsonSchema } from "../../schema/json-schema.ts";
import { EXAMPLE_VALUES } from "./example-values.ts";

const FORMATS: Readonly<Record<string, string>> = {
  uuid: "0190b7c2-7f3a-7000-8000-3f1d2c4b5a69",
  "date-time": "2026-01-12T08:00:00.000Z",
  date: "2026-01-12",
  email: "name@example.org",
  uri: "https://example.org/",
  color: "#0A7F00",
};
const SAMPLE_TEXT = "Fire drill";

/** A row or a part of one that fits the schema of a resource's rows, and the rules of the resource as far as they are known. */
export function rowExample(resourceName: string, schema: JsonSchema): unknown {
  const example = objectExample(schema);
  for (const name of Object.keys(example)) {
    const known = EXAMPLE_VALUES[`${resourceName}.${name}`];
    if (known !== undefined) example[name] = known;
  }
  return example;
}

/** A value that fits a schema; null where that does, related rows and lists of objects empty. */
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
  return Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, exampleOf(member)]));
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
