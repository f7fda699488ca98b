import type { ComputedField, Field, ObjectField, ScalarField } from "../../schema/field.ts";
import { type JsonSchema, schemaOf } from "../../schema/json-schema.ts";

/** Properties of an object schema. */
export interface SchemaMembers {
  properties: Record<string, JsonSchema>;
  required: string[];
}

/** Schemas of fields in responses: all are present, null if not set. */
export function responseMembers(fields: Readonly<Record<string, Field>>): SchemaMembers {
  const properties: SchemaMembers["properties"] = {};
  const required: string[] = [];
  for (const [name, field] of Object.entries(fields)) {
    if (field.kind === "secret" || field.kind === "internal") continue;
    properties[name] = responseSchema(field);
    if (!isOptional(field)) required.push(name);
  }
  return { properties, required };
}

/** True for fields that only some rows or responses contain. */
export function isOptional(field: Field): boolean {
  if (field.kind === "json") return Boolean(field.when || field.unless);
  return field.kind === "computed" && Boolean(field.when || field.unless || field.sometimes);
}

/** Schema of a field in responses. */
export function responseSchema(field: Field): JsonSchema {
  const { default: _default, readOnly: _readOnly, "x-create-only": _createOnly, ...schema } = schemaOf(field);
  const shown = { ...schema, ...innerSchema(field) };
  return isAlwaysSet(field) ? shown : nullableSchema(shown);
}

/** Schemas of fields in requests; null clears an optional field. */
export function requestMembers(fields: Readonly<Record<string, Field>>, op: "create" | "update"): SchemaMembers {
  const members: SchemaMembers = { properties: {}, required: [] };
  for (const [name, field] of Object.entries(fields)) {
    if (!isRequestMember(field, op)) continue;
    members.properties[name] = requestSchema(field, op);
    if (field.required && op === "create") members.required.push(name);
  }
  return members;
}

/** Schema of an object. */
export function objectSchema({ properties, required }: SchemaMembers): JsonSchema {
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}) };
}

/** A schema that also accepts null. */
export function nullableSchema(schema: JsonSchema): JsonSchema {
  if ("$ref" in schema) return { anyOf: [schema, { type: "null" }] };
  if (typeof schema.type !== "string" || schema.type === "null") return schema;
  const choice = Array.isArray(schema.enum) ? { enum: [...schema.enum, null] } : {};
  return { ...schema, type: [schema.type, "null"], ...choice };
}

function isRequestMember(field: Field, op: "create" | "update"): boolean {
  if (field.readOnly || field.kind === "internal" || field.kind === "computed") return false;
  return op === "create" || !field.createOnly;
}

function requestSchema(field: Field, op: "create" | "update"): JsonSchema {
  const schema = schemaOf(field);
  // Sending the size back means no change; the content is sent as multipart.
  if (field.kind === "file") return { ...schema, type: ["integer", "string", "null"] };
  const given = { ...schema, ...requestShape(field, op) };
  return field.required ? given : nullableSchema(given);
}

function requestShape(field: Field, op: "create" | "update"): JsonSchema {
  if (field.kind === "object") return objectSchema(requestMembers(field.fields, op));
  // Elements are always given whole.
  if (field.kind === "json" && field.items) return itemsSchema(requestMembers(field.items, "create"));
  return {};
}

function itemsSchema({ properties, required }: SchemaMembers): JsonSchema {
  const id = { type: "string", format: "uuid", description: "Id within the list." };
  return { type: "array", items: objectSchema({ properties: { id, ...properties }, required }) };
}

/** @source src/schema/resource.ts */
function isAlwaysSet(field: Field): boolean {
  if (field.kind === "computed") return field.nullable !== true;
  return field.required === true || field.kind === "many" || ("default" in field && field.default !== undefined);
}

function innerSchema(field: Field): JsonSchema {
  if (field.kind === "object") return objectSchema(responseMembers((field as ObjectField).fields));
  // Elements are returned with further members.
  if (field.kind === "json" && field.items) return { type: "array", items: { type: "object" } };
  if (field.kind === "computed" && field.of) return computedSchema(field.type, field.of);
  return {};
}

function computedSchema(type: ComputedField["type"], of: NonNullable<ComputedField["of"]>): JsonSchema {
  const single = isField(of);
  const inner = single ? responseSchema({ ...of, required: true }) : objectSchema(responseMembers(of));
  if (type === "array") return { type, items: inner };
  if (single && type !== "object") return inner;
  return single ? { type, additionalProperties: inner } : inner;
}

function isField(of: NonNullable<ComputedField["of"]>): of is ScalarField {
  return typeof of.kind === "string";
}
