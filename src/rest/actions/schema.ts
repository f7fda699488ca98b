import { canonicalPath, methodsOf } from "../../schema/catalogue.ts";
import { jsonSchemaOf } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { type Action, json } from "../action.ts";

const SCHEMA = { type: "object" };
const TOLD = {
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
  required: ["resources", "extensions"],
  properties: {
    resources: { type: "object", additionalProperties: TOLD },
    extensions: { type: "object", additionalProperties: SCHEMA },
  },
};

/**
 * What forms and tables are drawn from: each resource by name, and the configuration of each extension with a plugin
 * behind it by the extension's id. Paths lie below `/api/v1`.
 */
export const schemaActions: readonly Action[] = [
  {
    method: "get",
    at: "schema",
    doc: "What forms and tables are drawn from: JSON Schemas of resources and of extensions' configurations.",
    answers: { kind: "json", schema: SCHEMAS },
    outsideVersion: true,
    permission: "anyone",
    async handle({ needs }) {
      const resources = Object.fromEntries(needs.catalogue.all.map((resource) => [resource.name, told(resource)]));
      const configs = Object.entries(needs.plugins.configFields());
      return json({
        resources,
        extensions: Object.fromEntries(configs.map(([id, fields]) => [id, jsonSchemaOf(fields)])),
      });
    },
  },
];

function told(resource: AnyResource): Record<string, unknown> {
  const path = canonicalPath(resource);
  return { path: `/${path.at}`, doc: resource.doc, schema: jsonSchemaOf(resource.fields), methods: methodsOf(path) };
}
