import { collectionName } from "../../schema/catalogue.ts";
import type { Field } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { Action } from "../action.ts";
import { deprecationText } from "../deprecation.ts";
import { DRY_RUN_QUERY } from "../rows/dry-run.ts";
import { canChangeRings, RING_DIFF_QUERY } from "../rows/ring-diff-response.ts";
import { errorResponsesOf, PAGE_RESPONSE, REDIRECT_RESPONSE } from "./errors.ts";
import { bodyExample } from "./examples.ts";
import { objectSchema, requestMembers, responseMembers, type SchemaMembers } from "./field-schemas.ts";
import { operationName, typeName } from "./operation-names.ts";
import {
  commonParameters,
  headerParameters,
  listParameters,
  type Parameter,
  pathParameters,
  presentationParameters,
  queryParameters,
  SHARED_PARAMETERS,
  sharedParameters,
} from "./parameters.ts";
import type { ResponseShape } from "./response-shape.ts";
import { componentRef, pathFields } from "./row-schemas.ts";

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";
const MULTIPART_TYPE = "multipart/form-data";

const IDEMPOTENCY_HEADER = sharedParameters(["Idempotency-Key"]);
const CONDITIONAL_HEADER = sharedParameters(["If-None-Match"]);

/** Describes one endpoint. */
export function operationOf(action: Action): JsonSchema {
  const open = action.permission === "open";
  const hasBody = action.method !== "get";
  const accepts = Object.keys(action.accepts ?? {}).length > 0 ? action.accepts : undefined;
  return {
    operationId: operationName(action.method, action.at, action.response.kind === "list"),
    tags: [action.at.split("/")[0]],
    summary: action.doc,
    ...(action.deprecated ? { deprecated: true, description: deprecationText(action.deprecated) } : {}),
    ...(open ? { security: [] } : {}),
    parameters: parametersOf(action, open),
    ...(hasBody && accepts ? { requestBody: bodyOf(action, accepts) } : {}),
    ...(action.binaryTypes ? { requestBody: bytesOf(action.binaryTypes) } : {}),
    responses: {
      ...successOf(action),
      ...errorResponsesOf({
        ...{ open, hasBody, callsOut: action.callsOut === true },
        refuses: action.errorResponse,
      }),
      ...alsoSentResponse(action),
    },
  };
}

/** A response that an error status has, too. */
function alsoSentResponse({ alsoSentWith, response }: Action): Record<string, JsonSchema> {
  if (alsoSentWith === undefined || response.kind !== "members") return {};
  const schema = { anyOf: [schemaOf(response), componentRef("Error")] };
  return { [alsoSentWith]: { description: describe(response), content: { [JSON_TYPE]: { schema } } } };
}

function parametersOf(action: Action, open: boolean): Parameter[] {
  const { method, at, response, headers = [], query = {} } = action;
  const rings = canChangeRings(action) ? RING_DIFF_QUERY : {};
  const declared = queryParameters(isDryRunSupported(action) ? { ...query, ...DRY_RUN_QUERY, ...rings } : query);
  const shown =
    response.kind === "list"
      ? listParameters(response.resource)
      : response.kind === "row"
        ? presentationParameters(response.resource)
        : [];
  const declaredNames = new Set(declared.map(({ name }) => name));
  return [
    ...pathParameters(at),
    ...declared,
    ...shown.filter(({ name }) => !declaredNames.has(name)),
    ...headerParameters(headers),
    ...(method === "post" && !open ? IDEMPOTENCY_HEADER : []),
    ...(method === "get" && response.kind !== "nothing" ? CONDITIONAL_HEADER : []),
    ...(open ? [] : commonParameters()),
  ];
}

/** Names of the query parameters of an operation, as requests have them after parsing. */
export function queryParameterNames(action: Action): string[] {
  return parametersOf(action, action.permission === "open").flatMap((parameter) => {
    const shared = SHARED_PARAMETERS[String(parameter.$ref ?? "").replace("#/components/parameters/", "")];
    const { name, in: place } = (shared ?? parameter) as { name: string; in: string };
    return place === "query" ? [name.replace(/\[\]$/, "")] : [];
  });
}

function bytesOf(types: readonly string[]): JsonSchema {
  return {
    required: true,
    content: Object.fromEntries(types.map((type) => [type, { schema: { type: "string", format: "binary" } }])),
  };
}

/** The component of a resource body, or an inline schema. */
function bodyOf(action: Action, fields: Readonly<Record<string, Field>>): JsonSchema {
  const op = action.method === "put" ? "update" : "create";
  const resource = "resource" in action.response ? action.response.resource : null;
  const schema =
    resource?.fields === fields ? resourceBody(action, resource, op) : inlineBody(action, requestMembers(fields, op));
  const required = (schema.required ?? (schema.allOf ? [""] : [])) as unknown[];
  // A component has its own example.
  const example = "$ref" in schema ? {} : { example: bodyExample(`${action.method} ${action.at}`, schema, resource) };
  return {
    required: required.length > 0,
    content: {
      [JSON_TYPE]: { schema, ...example },
      [FORM_TYPE]: { schema },
      [MULTIPART_TYPE]: { schema: withUploads(schema, fields) },
    },
  };
}

/** Ids in the path need not be in the body. */
function inlineBody({ at }: Action, { properties, required }: SchemaMembers): JsonSchema {
  return objectSchema({ properties, required: required.filter((name) => !at.includes(`{${name}}`)) });
}

function resourceBody({ at }: Action, resource: AnyResource, op: "create" | "update"): JsonSchema {
  const component = componentRef(`${typeName(resource.name)}${op === "create" ? "New" : "Change"}`);
  if (op === "update") return component;
  const { properties, required } = requestMembers(resource.fields, "create");
  // The id is part of another path of the resource, but not of this one.
  const missing = required.filter((name) => !at.includes(`{${name}}`) && pathFields(resource).has(name));
  if (missing.length === 0) return component;
  const schemas = missing.map((name) => [name, properties[name] as JsonSchema] as const);
  return { allOf: [component, objectSchema({ properties: Object.fromEntries(schemas), required: missing })] };
}

/** Files are parts of a multipart body; a string part with the same name clears the file. */
function withUploads(schema: JsonSchema, fields: Readonly<Record<string, Field>>): JsonSchema {
  const files = Object.entries(fields).filter(([, field]) => field.kind === "file");
  if (files.length === 0) return schema;
  const properties = Object.fromEntries(
    files.map(([name, { doc }]) => [name, { type: "string", format: "binary", description: doc }]),
  );
  return { allOf: [schema, { type: "object", properties }] };
}

function isDryRunSupported(action: Action): boolean {
  return action.permission !== "open" && action.supportsDryRun === true;
}

/** A dry run returns the response of the write plus `dryRun`. */
function withDryRunMember(schema: JsonSchema, action: Action): JsonSchema {
  const ringDiff = canChangeRings(action) ? { ringDiff: componentRef("RingDifference") } : {};
  const uses = action.response.kind === "deletion" ? { uses: componentRef("Uses") } : {};
  return { allOf: [schema, { type: "object", properties: { dryRun: componentRef("Impact"), ...uses, ...ringDiff } }] };
}

function successOf(action: Action): Record<string, JsonSchema> {
  const { method, response } = action;
  if (response.kind === "nothing") return { 204: { description: "Done." } };
  const unchanged = method === "get" ? { 304: { description: "Not modified since If-None-Match." } } : {};
  if (response.kind === "page")
    return { 200: { ...PAGE_RESPONSE, description: "The HTML page." }, 303: REDIRECT_RESPONSE, ...unchanged };
  if (response.kind === "bytes") {
    return { 200: { description: "The content.", content: binary(response.types) }, ...unchanged };
  }
  const others = response.kind === "members" ? binary(response.orBytes ?? []) : {};
  const etag = { ETag: { description: "Version of the row, for If-Match.", schema: { type: "string" } } };
  return {
    200: {
      description: describe(response),
      ...(response.kind === "row" ? { headers: etag } : {}),
      content: {
        [JSON_TYPE]: { schema: successSchema(action, response) },
        ...others,
      },
    },
    ...(response.kind === "members" && response.orNothing ? { 204: { description: "Done." } } : {}),
    ...unchanged,
  };
}

function successSchema(action: Action, response: JsonShape): JsonSchema {
  const plain = schemaOf(response);
  const schema = isDryRunSupported(action) ? withDryRunMember(plain, action) : plain;
  if (!takesWarnings(action) || hasWarnings(response)) return schema;
  const warnings = componentRef("Warnings");
  if (schema.properties) return { ...schema, properties: { ...schema.properties, warnings } };
  return { allOf: [schema, { type: "object", properties: { warnings } }] };
}

/** Whether `warnings` of a response may name ignored input: its own member of this name means something else. */
export function takesWarnings({ permission, response }: Action): boolean {
  if (permission === "open") return false;
  if (response.kind === "members") return !Object.hasOwn(response.fields, "warnings");
  if (response.kind === "row") return !Object.hasOwn(response.resource.fields, "warnings");
  return response.kind === "list" || response.kind === "deletion" || (response.kind === "json" && isObject(response));
}

/** Declared warnings, which take those about ignored input as well. */
const hasWarnings = (shape: JsonShape): boolean => shape.kind === "row" && Object.hasOwn(shape.with ?? {}, "warnings");

const isObject = ({ schema }: { schema: JsonSchema }): boolean => schema.type === "object";

function binary(types: readonly string[]): Record<string, JsonSchema> {
  return Object.fromEntries(types.map((type) => [type, { schema: { type: "string", format: "binary" } }]));
}

function describe(shape: ResponseShape): string {
  if (shape.kind === "list") return `A page of ${collectionName(shape.resource)}.`;
  if (shape.kind === "row") return shape.resource.doc;
  return shape.kind === "deletion" ? "Deleted." : "The response.";
}

function withOptional({ properties, required }: SchemaMembers, names: readonly string[] = []): SchemaMembers {
  return { properties, required: required.filter((name) => !names.includes(name)) };
}

function withRequired(fields: Readonly<Record<string, Field>>): SchemaMembers {
  const { properties } = responseMembers(fields);
  return { properties, required: Object.keys(fields).filter((name) => fields[name]?.required) };
}

type JsonShape = Exclude<ResponseShape, { kind: "nothing" | "bytes" | "page" }>;

function schemaOf(shape: JsonShape): JsonSchema {
  switch (shape.kind) {
    case "list":
      return componentRef(`${typeName(shape.resource.name)}Page`);
    case "deletion":
      return componentRef("Deletion");
    case "members":
      return objectSchema(withOptional(responseMembers(shape.fields), shape.sometimes));
    case "json":
      return shape.schema;
    case "row": {
      const row = componentRef(typeName(shape.resource.name));
      return shape.with ? { allOf: [row, objectSchema(withRequired(shape.with))] } : row;
    }
  }
}
