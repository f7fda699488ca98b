import type { Catalogue } from "../../schema/catalogue.ts";
import { pathParams } from "../../schema/catalogue.ts";
import type { ComputedField, Field, FileFieldData } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { hidableReferences } from "../rows/hidden-references.ts";
import { rowExample } from "./examples.ts";
import {
  isOptional,
  nullableSchema,
  objectSchema,
  requestMembers,
  responseMembers,
  responseSchema,
  type SchemaMembers,
} from "./field-schemas.ts";
import { typeName } from "./operation-names.ts";

/** Reference to a schema component. */
export function componentRef(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

const TIMESTAMP = { type: "string", format: "date-time" };
const PERMISSIONS: JsonSchema = {
  type: "array",
  items: { type: "string", enum: ["get", "put", "delete"] },
  description: "Operations that the caller may perform here.",
};
const ID = { type: "string", format: "uuid" };

/** Schemas of a resource: the row, its summary within other rows, its page, and the bodies of create and update. */
export function rowSchemas(resource: AnyResource, catalogue: Catalogue): Record<string, JsonSchema> {
  const name = typeName(resource.name);
  const schemas: Record<string, JsonSchema> = {
    [name]: { description: resource.doc, ...objectSchema(rowMembers(resource, catalogue)) },
    [`${name}Summary`]: {
      description: `${resource.doc} Summary within another row.`,
      ...objectSchema(ownMembers(resource, catalogue)),
    },
    [`${name}Page`]: pageSchema(name),
    [`${name}New`]: objectSchema(createMembers(resource)),
    [`${name}Change`]: objectSchema(requestMembers(resource.fields, "update")),
  };
  return Object.fromEntries(
    Object.entries(schemas).map(([key, schema]) => {
      // An example of a page would repeat that of its rows.
      if (key.endsWith("Page")) return [key, schema];
      const isBody = key === `${name}New` || key === `${name}Change`;
      // A change must not empty what a row needs.
      const { required } = isBody ? (schemas[`${name}New`] as JsonSchema) : schema;
      return [key, { ...schema, examples: [rowExample(resource.name, { ...schema, required }, isBody)] }];
    }),
  );
}

/** Fields that are only returned with a query flag. */
export function flaggedMembers(resource: AnyResource): [name: string, field: Pick<ComputedField, "when" | "unless">][] {
  return Object.entries(resource.fields).flatMap(([name, field]) =>
    (field.kind === "computed" && (field.when || field.unless)) ||
    (field.kind === "json" && (field.when || field.unless))
      ? [[name, field] as [string, ComputedField]]
      : [],
  );
}

/** Embedded relations of a resource by name. */
export function embeddedRelations(
  resource: AnyResource,
): { name: string; many: boolean; to: string; unless: string | null }[] {
  return Object.values(resource.fields).flatMap((field) =>
    (field.kind === "ref" || field.kind === "many") && field.embed
      ? [
          {
            ...{ name: field.embed, many: field.kind === "many", to: field.to },
            unless: field.embedUnless ?? null,
          },
        ]
      : [],
  );
}

/** Placeholders of all paths of the resource. */
export function pathFields(resource: AnyResource): ReadonlySet<string> {
  return new Set(resource.paths.flatMap(pathParams));
}

/** Ids of the path are optional in the body; operations whose path lacks them add `required`. */
function createMembers(resource: AnyResource): SchemaMembers {
  const { properties, required } = requestMembers(resource.fields, "create");
  const named = pathFields(resource);
  return {
    properties: { id: { ...ID, description: "Client-generated id." }, ...properties },
    required: required.filter((name) => !named.has(name)),
  };
}

function rowMembers(resource: AnyResource, catalogue: Catalogue): SchemaMembers {
  const { properties, required } = ownMembers(resource, catalogue);
  for (const [name, field] of Object.entries(resource.fields)) {
    if (field.kind !== "computed" || field.type !== "array") continue;
    properties[name] = field.rowsOf ? rowArraySchema(field.rowsOf, field.doc) : responseSchema(field);
    if (!isOptional(field)) required.push(name);
  }
  for (const { name, many, to } of embeddedRelations(resource)) {
    const one = catalogue.has(to) ? componentRef(`${typeName(to)}Summary`) : { type: "null" };
    properties[name] = many ? { type: "array", items: catalogue.has(to) ? one : {} } : nullableSchema(one);
  }
  if (resource.scope === "domain" && catalogue.has("domains")) {
    properties.domain = nullableSchema(componentRef("DomainSummary"));
  }
  properties.permissions = PERMISSIONS;
  return { properties, required: [...required, "permissions"] };
}

/** Members without relations, computed lists and path-specific members. */
function ownMembers(resource: AnyResource, catalogue: Catalogue): SchemaMembers {
  const plain: [string, Field][] = Object.entries(resource.fields).filter(
    ([, field]) => field.kind !== "file" && !(field.kind === "computed" && field.type === "array"),
  );
  const { properties, required } = responseMembers(Object.fromEntries(plain));
  for (const name of hidableReferences(resource, catalogue)) {
    if (properties[name]) properties[name] = nullableSchema(properties[name]);
  }
  const members: SchemaMembers = {
    properties: { id: ID, ...properties, createdAt: TIMESTAMP, updatedAt: TIMESTAMP },
    required: ["id", ...required, "createdAt", "updatedAt"],
  };
  for (const [name, field] of Object.entries(resource.fields))
    if (field.kind === "file") addFileMembers(members, name, field);
  if (resource.scope === "domain") {
    members.properties.domainId = { ...nullableSchema(ID), description: "Home domain." };
    members.required.push("domainId");
  }
  return members;
}

function rowArraySchema(resourceName: string, description: string): JsonSchema {
  const row = componentRef(`${typeName(resourceName)}Summary`);
  const permissionsMember = { type: "object", required: ["permissions"], properties: { permissions: PERMISSIONS } };
  return { type: "array", description, items: { allOf: [row, permissionsMember] } };
}

function addFileMembers({ properties, required }: SchemaMembers, name: string, field: FileFieldData): void {
  properties[name] = { type: "integer", minimum: 0, description: `${field.doc} Size in bytes; 0 without a file.` };
  properties[`${name}Files`] = { type: "array", items: componentRef("StoredFile"), maxItems: 1 };
  required.push(name, `${name}Files`);
}

function pageSchema(name: string): JsonSchema {
  const pointer = { type: ["string", "null"], description: "Page token, to be sent as `start`." };
  return {
    type: "object",
    required: ["partial", "previous", "next", "data"],
    properties: {
      total: { type: "integer", minimum: 0, description: "Number of matching rows visible to the caller." },
      partial: { type: "boolean", description: "False if this page contains all matching rows." },
      previous: pointer,
      next: pointer,
      data: { type: "array", items: componentRef(name) },
    },
  };
}
