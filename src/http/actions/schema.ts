import { profileFieldsByExtension } from "../../notifications/compose/notification-profile-hooks.ts";
import { canonicalPath, methodsOf } from "../../schema/catalogue.ts";
import type { Field } from "../../schema/field.ts";
import { jsonSchemaOf } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { type Action, jsonResponse } from "../action.ts";

const SCHEMA = { type: "object" };
const RESOURCE_SCHEMA = {
  type: "object",
  required: ["path", "doc", "schema", "methods"],
  properties: {
    path: { type: "string" },
    doc: { type: "string" },
    schema: SCHEMA,
    methods: { type: "array", items: { type: "string" } },
  },
};
const SCHEMAS = {
  type: "object",
  required: ["resources", "extensions", "profiles"],
  properties: {
    resources: { type: "object", additionalProperties: RESOURCE_SCHEMA },
    extensions: { type: "object", additionalProperties: SCHEMA },
    profiles: { type: "object", additionalProperties: SCHEMA },
  },
};

/**
 * What forms and tables are drawn from: each resource by name, and the configuration of each extension with a plugin
 * behind it by the extension's id, and so what notification profiles may say of it. Paths lie below `/api/v1`.
 */
export const schemaActions: readonly Action[] = [
  {
    method: "get",
    at: "schema",
    doc: "What forms and tables are drawn from: JSON Schemas of resources, of extensions' configurations and of their settings in profiles.",
    response: { kind: "json", schema: SCHEMAS },
    outsideVersion: true,
    permission: "anyone",
    async handle({ needs }) {
      const resources = Object.fromEntries(
        needs.catalogue.all.map((resource) => [resource.name, presentSchema(resource)]),
      );
      const { configFields, profileSchema } = needs.plugins;
      return jsonResponse({
        resources,
        extensions: schemasOf(configFields()),
        profiles: schemasOf(profileFieldsByExtension(needs.store, profileSchema)),
      });
    },
  },
];

function schemasOf(fields: Readonly<Record<string, Readonly<Record<string, Field>>>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([id, each]) => [id, jsonSchemaOf(each)]));
}

function presentSchema(resource: AnyResource): Record<string, unknown> {
  const path = canonicalPath(resource);
  return { path: `/${path.at}`, doc: resource.doc, schema: jsonSchemaOf(resource.fields), methods: methodsOf(path) };
}
