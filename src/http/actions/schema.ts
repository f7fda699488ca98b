import type { SentenceReader } from "../../lib/sentences/registry.ts";
import { profileFieldsByExtension } from "../../notifications/compose/notification-profile-hooks.ts";
import extensions from "../../resources/devices/extensions.ts";
import { canonicalPath, methodsOf } from "../../schema/catalogue.ts";
import type { Field } from "../../schema/field.ts";
import { jsonSchemaOf } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";
import { type Action, jsonResponse } from "../action.ts";
import type { ApiDeps } from "../dependencies.ts";

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
 * JSON Schemas for generated forms and tables: each resource by name, extension configurations and profile settings
 * by extension id. Paths are relative to `/api/v1`.
 */
export const schemaActions: readonly Action[] = [
  {
    method: "get",
    at: "schema",
    doc: "Returns JSON Schemas of resources, extension configurations and profile settings, for generating forms and tables.",
    response: { kind: "json", schema: SCHEMAS },
    outsideVersion: true,
    permission: "anyone",
    async handle({ deps }) {
      const resources = Object.fromEntries(
        deps.catalogue.all.map((resource) => [resource.name, presentSchema(resource)]),
      );
      const { configFields, profileSchema } = deps.plugins;
      return jsonResponse({
        resources,
        extensions: presentForms(configFields(), deps),
        profiles: presentForms(profileFieldsByExtension(deps.store, profileSchema), deps),
      });
    },
  },
];

/** Schemas by extension id, with the labels and descriptions of the plugin. */
function presentForms(
  fields: Readonly<Record<string, Readonly<Record<string, Field>>>>,
  { store, plugins: { sentences } }: Pick<ApiDeps, "store" | "plugins">,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([id, each]) => {
      const plugin = store.get(extensions, id)?.plugin ?? "";
      const schema = withSentences(jsonSchemaOf(each), sentences) as { properties?: Record<string, object> };
      const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => {
        const label = sentences.label(plugin, name);
        const title = label === null ? {} : { title: label.text, "x-title-sentence": label.sentence };
        return [name, { ...property, ...title }] as const;
      });
      return [id, { ...schema, properties: Object.fromEntries(properties) }];
    }),
  );
}

/** Adds code and parameters of descriptions, which the form of a plugin shows; those of resources are for programs. */
function withSentences(schema: unknown, sentences: SentenceReader): unknown {
  if (Array.isArray(schema)) return schema.map((each) => withSentences(each, sentences));
  if (typeof schema !== "object" || schema === null) return schema;
  const members = Object.entries(schema).map(([name, value]) => [name, withSentences(value, sentences)]);
  const { description } = schema as { description?: unknown };
  const read = typeof description === "string" ? sentences.read(description) : null;
  return { ...Object.fromEntries(members), ...(read === null ? {} : { "x-description-sentence": read }) };
}

function presentSchema(resource: AnyResource): Record<string, unknown> {
  const path = canonicalPath(resource);
  return { path: `/${path.at}`, doc: resource.doc, schema: jsonSchemaOf(resource.fields), methods: methodsOf(path) };
}
