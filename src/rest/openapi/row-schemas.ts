import type { Catalogue } from "../../schema/catalogue.ts";
import { pathParams } from "../../schema/catalogue.ts";
import type { ComputedField, Field, FileFieldData } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { hidableReferences } from "../hidden-references.ts";
import { rowExample } from "./example.ts";
import {
  givenMembers,
  isOptional,
  type Members,
  objectOf,
  orNull,
  shownMembers,
  shownSchema,
} from "./field-schemas.ts";
import { typeName } from "./names.ts";

/** Where components are pointed to. */
export function componentRef(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

const MOMENT = { type: "string", format: "date-time" };
const PERMISSIONS: JsonSchema = {
  type: "array",
  items: { type: "string", enum: ["get", "put", "delete"] },
  description: "What the caller may do with it here.",
};
const ID = { type: "string", format: "uuid" };

/** The schemas of a resource: the row, the row as part of another one, what makes one, and what changes one. */
export function rowSchemas(resource: AnyResource, catalogue: Catalogue): Record<string, JsonSchema> {
  const name = typeName(resource.name);
  const schemas: Record<string, JsonSchema> = {
    [name]: { description: resource.doc, ...objectOf(rowMembers(resource, catalogue)) },
    [`${name}Summary`]: {
      description: `${resource.doc} Shown within another row.`,
      ...objectOf(ownMembers(resource, catalogue)),
    },
    [`${name}Page`]: pageSchema(name),
    [`${name}New`]: objectOf(creating(resource)),
    [`${name}Change`]: objectOf(givenMembers(resource.fields, "update")),
  };
  return Object.fromEntries(
    Object.entries(schemas).map(([key, schema]) => {
      // An example of a list would only repeat the one of its rows.
      return [key, key.endsWith("Page") ? schema : { ...schema, examples: [rowExample(resource.name, schema)] }];
    }),
  );
}

/** Members that stand in a row only where the query says so. */
export function flagged(resource: AnyResource): [name: string, field: Pick<ComputedField, "when" | "unless">][] {
  return Object.entries(resource.fields).flatMap(([name, field]) =>
    (field.kind === "computed" && (field.when || field.unless)) ||
    (field.kind === "json" && (field.when || field.unless))
      ? [[name, field] as [string, ComputedField]]
      : [],
  );
}

/** The relations of a resource that are embedded, by the name under which they are. */
export function relations(resource: AnyResource): { name: string; many: boolean; to: string; unless: string | null }[] {
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

/** What the paths of a resource name. */
export function namedInPaths(resource: AnyResource): ReadonlySet<string> {
  return new Set(resource.paths.flatMap(pathParams));
}

/** What a path names need not stand in the body; where it does not name it, `required` of the operation does. */
function creating(resource: AnyResource): Members {
  const { properties, required } = givenMembers(resource.fields, "create");
  const named = namedInPaths(resource);
  return {
    properties: { id: { ...ID, description: "An id of the caller's own." }, ...properties },
    required: required.filter((name) => !named.has(name)),
  };
}

function rowMembers(resource: AnyResource, catalogue: Catalogue): Members {
  const { properties, required } = ownMembers(resource, catalogue);
  for (const [name, field] of Object.entries(resource.fields)) {
    if (field.kind !== "computed" || field.type !== "array") continue;
    properties[name] = field.rowsOf ? rowsWithin(field.rowsOf, field.doc) : shownSchema(field);
    if (!isOptional(field)) required.push(name);
  }
  for (const { name, many, to } of relations(resource)) {
    const one = catalogue.has(to) ? componentRef(`${typeName(to)}Summary`) : { type: "null" };
    properties[name] = many ? { type: "array", items: catalogue.has(to) ? one : {} } : orNull(one);
  }
  if (resource.scope === "domain" && catalogue.has("domains")) {
    properties.domain = orNull(componentRef("DomainSummary"));
  }
  properties.permissions = PERMISSIONS;
  return { properties, required: [...required, "permissions"] };
}

/** Without relations, lists that are computed, and what stands at the row's own path alone. */
function ownMembers(resource: AnyResource, catalogue: Catalogue): Members {
  const plain: [string, Field][] = Object.entries(resource.fields).filter(
    ([, field]) => field.kind !== "file" && !(field.kind === "computed" && field.type === "array"),
  );
  const { properties, required } = shownMembers(Object.fromEntries(plain));
  for (const name of hidableReferences(resource, catalogue)) {
    if (properties[name]) properties[name] = orNull(properties[name]);
  }
  const members: Members = {
    properties: { id: ID, ...properties, createdAt: MOMENT, updatedAt: MOMENT },
    required: ["id", ...required, "createdAt", "updatedAt"],
  };
  for (const [name, field] of Object.entries(resource.fields)) if (field.kind === "file") addFile(members, name, field);
  if (resource.scope === "domain") {
    members.properties.domainId = { ...orNull(ID), description: "Home domain." };
    members.required.push("domainId");
  }
  return members;
}

function rowsWithin(resourceName: string, description: string): JsonSchema {
  const row = componentRef(`${typeName(resourceName)}Summary`);
  const rights = { type: "object", required: ["permissions"], properties: { permissions: PERMISSIONS } };
  return { type: "array", description, items: { allOf: [row, rights] } };
}

function addFile({ properties, required }: Members, name: string, field: FileFieldData): void {
  properties[name] = { type: "integer", minimum: 0, description: `${field.doc} Its size in bytes, 0 without one.` };
  properties[`${name}Files`] = { type: "array", items: componentRef("StoredFile"), maxItems: 1 };
  required.push(name, `${name}Files`);
}

function pageSchema(name: string): JsonSchema {
  const pointer = { type: ["string", "null"], description: "Sent as `start`, it asks for that page." };
  return {
    type: "object",
    required: ["partial", "previous", "next", "data"],
    properties: {
      total: { type: "integer", minimum: 0, description: "Matching rows that the caller sees, on all pages." },
      partial: { type: "boolean", description: "False when this page holds all of them." },
      previous: pointer,
      next: pointer,
      data: { type: "array", items: componentRef(name) },
    },
  };
}
