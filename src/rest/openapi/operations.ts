import { familyOf } from "../../schema/catalogue.ts";
import type { Field } from "../../schema/field.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { AnyResource } from "../../schema/resource.ts";
import type { Action } from "../action.ts";
import { deprecationWords } from "../deprecation.ts";
import { DRY_RUN_QUERY } from "../dry-run.ts";
import { movesRings, RING_DIFFERENCE_QUERY } from "../ring-moves.ts";
import type { AnswerShape } from "./answer-shape.ts";
import { ELSEWHERE, errorsOf, PAGE } from "./errors.ts";
import { givenMembers, type Members, objectOf, shownMembers } from "./field-schemas.ts";
import { operationName, typeName } from "./names.ts";
import {
  domainParameters,
  headerParameters,
  listParameters,
  type Parameter,
  pathParameters,
  queryParameters,
  shared,
  showingParameters,
} from "./parameters.ts";
import { componentRef, namedInPaths } from "./row-schemas.ts";

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";
const MULTIPART_TYPE = "multipart/form-data";

const ONCE_ONLY = shared(["Idempotency-Key"]);
const UNLESS_KNOWN = shared(["If-None-Match"]);

/** Describes one endpoint. */
export function operationOf(action: Action): JsonSchema {
  const open = action.permission === "open";
  const hasBody = action.method !== "get";
  const accepts = Object.keys(action.accepts ?? {}).length > 0 ? action.accepts : undefined;
  return {
    operationId: operationName(action.method, action.at, action.answers.kind === "list"),
    tags: [action.at.split("/")[0]],
    summary: action.doc,
    ...(action.deprecated ? { deprecated: true, description: deprecationWords(action.deprecated) } : {}),
    ...(open ? { security: [] } : {}),
    parameters: parametersOf(action, open),
    ...(hasBody && accepts ? { requestBody: bodyOf(action, accepts) } : {}),
    ...(action.takesBytes ? { requestBody: bytesOf(action.takesBytes) } : {}),
    responses: { ...successOf(action), ...errorsOf({ open, hasBody, refuses: action.refuses }) },
  };
}

function parametersOf(action: Action, open: boolean): Parameter[] {
  const { method, at, answers, headers = [], query = {} } = action;
  const rings = movesRings(action) ? RING_DIFFERENCE_QUERY : {};
  const own = queryParameters(isRehearsed(action) ? { ...query, ...DRY_RUN_QUERY, ...rings } : query);
  const shown =
    answers.kind === "list"
      ? listParameters(answers.resource)
      : answers.kind === "row"
        ? showingParameters(answers.resource)
        : [];
  const named = new Set(own.map(({ name }) => name));
  return [
    ...pathParameters(at),
    ...own,
    ...shown.filter(({ name }) => !named.has(name)),
    ...headerParameters(headers),
    ...(method === "post" && !open ? ONCE_ONLY : []),
    ...(method === "get" && answers.kind !== "nothing" ? UNLESS_KNOWN : []),
    ...(open ? [] : domainParameters()),
  ];
}

function bytesOf(types: readonly string[]): JsonSchema {
  return {
    required: true,
    content: Object.fromEntries(types.map((type) => [type, { schema: { type: "string", format: "binary" } }])),
  };
}

/** Where a body is a resource's, its component; else the members themselves. */
function bodyOf(action: Action, fields: Readonly<Record<string, Field>>): JsonSchema {
  const op = action.method === "put" ? "update" : "create";
  const resource = "resource" in action.answers ? action.answers.resource : null;
  const schema = resource?.fields === fields ? resourceBody(action, resource, op) : objectOf(givenMembers(fields, op));
  const required = (schema.required ?? (schema.allOf ? [""] : [])) as unknown[];
  return {
    required: required.length > 0,
    content: {
      [JSON_TYPE]: { schema },
      [FORM_TYPE]: { schema },
      [MULTIPART_TYPE]: { schema: withUploads(schema, fields) },
    },
  };
}

function resourceBody({ at }: Action, resource: AnyResource, op: "create" | "update"): JsonSchema {
  const component = componentRef(`${typeName(resource.name)}${op === "create" ? "New" : "Change"}`);
  if (op === "update") return component;
  const { properties, required } = givenMembers(resource.fields, "create");
  // Another path of the resource names it, this one does not.
  const missing = required.filter((name) => !at.includes(`{${name}}`) && namedInPaths(resource).has(name));
  if (missing.length === 0) return component;
  const schemas = missing.map((name) => [name, properties[name] as JsonSchema] as const);
  return { allOf: [component, objectOf({ properties: Object.fromEntries(schemas), required: missing })] };
}

/** Files come as parts of a multipart body; a text member of that name clears the file. */
function withUploads(schema: JsonSchema, fields: Readonly<Record<string, Field>>): JsonSchema {
  const files = Object.entries(fields).filter(([, field]) => field.kind === "file");
  if (files.length === 0) return schema;
  const properties = Object.fromEntries(
    files.map(([name, { doc }]) => [name, { type: "string", format: "binary", description: doc }]),
  );
  return { allOf: [schema, { type: "object", properties }] };
}

function isRehearsed(action: Action): boolean {
  return action.permission !== "open" && action.rehearses === true;
}

/** A rehearsal answers as the write would, with one member more. */
function withRehearsal(schema: JsonSchema, action: Action): JsonSchema {
  const ringDiff = movesRings(action) ? { ringDiff: componentRef("RingDifference") } : {};
  return { allOf: [schema, { type: "object", properties: { dryRun: componentRef("Impact"), ...ringDiff } }] };
}

function successOf(action: Action): Record<string, JsonSchema> {
  const { method, answers } = action;
  if (answers.kind === "nothing") return { 204: { description: "Done." } };
  const unchanged = method === "get" ? { 304: { description: "As If-None-Match says: the caller has it." } } : {};
  if (answers.kind === "page") return { 200: { ...PAGE, description: "The page." }, 303: ELSEWHERE, ...unchanged };
  if (answers.kind === "bytes") {
    return { 200: { description: "The bytes.", content: binary(answers.types) }, ...unchanged };
  }
  const others = answers.kind === "members" ? binary(answers.orBytes ?? []) : {};
  const etag = { ETag: { description: "Version of the row, for If-Match.", schema: { type: "string" } } };
  return {
    200: {
      description: describe(answers),
      ...(answers.kind === "row" ? { headers: etag } : {}),
      content: {
        [JSON_TYPE]: { schema: isRehearsed(action) ? withRehearsal(schemaOf(answers), action) : schemaOf(answers) },
        ...others,
      },
    },
    ...unchanged,
  };
}

function binary(types: readonly string[]): Record<string, JsonSchema> {
  return Object.fromEntries(types.map((type) => [type, { schema: { type: "string", format: "binary" } }]));
}

function describe(answers: AnswerShape): string {
  if (answers.kind === "list") return `A page of ${familyOf(answers.resource)}.`;
  if (answers.kind === "row") return answers.resource.doc;
  return answers.kind === "deletion" ? "It is deleted." : "The answer.";
}

function sometimesWithout({ properties, required }: Members, names: readonly string[] = []): Members {
  return { properties, required: required.filter((name) => !names.includes(name)) };
}

function withRequired(fields: Readonly<Record<string, Field>>): Members {
  const { properties } = shownMembers(fields);
  return { properties, required: Object.keys(fields).filter((name) => fields[name]?.required) };
}

function schemaOf(answers: Exclude<AnswerShape, { kind: "nothing" | "bytes" | "page" }>): JsonSchema {
  switch (answers.kind) {
    case "list":
      return componentRef(`${typeName(answers.resource.name)}Page`);
    case "deletion":
      return componentRef("Deletion");
    case "members":
      return objectOf(sometimesWithout(shownMembers(answers.fields), answers.sometimes));
    case "json":
      return answers.schema;
    case "row": {
      const row = componentRef(typeName(answers.resource.name));
      return answers.with ? { allOf: [row, objectOf(withRequired(answers.with))] } : row;
    }
  }
}
