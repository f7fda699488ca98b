import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

/** A JSON Schema or any other object of a document. */
type Json = Readonly<Record<string, unknown>>;

/** As much of an OpenAPI document as answers are held against. */
export interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json>; responses: Record<string, AnswerObject> };
}

interface Operation {
  operationId: string;
  responses: Record<string, AnswerObject>;
}

interface AnswerObject {
  $ref?: string;
  content?: Record<string, { schema: Json }>;
}

/** An answer as it was received; `path` begins with `/api`, without query. */
export interface ReceivedApiResponse {
  method: string;
  path: string;
  status: number;
  contentType: string | null;
  /** The body of a JSON answer, else null. */
  text: string | null;
}

/** Says what of an answer does not fit the API's description; null when it fits. */
export type ResponseValidator = (answer: ReceivedApiResponse) => string | null;

/** Statuses that say that a path or a method is not served. */
const UNSERVED_STATUSES = new Set([404, 405, 421]);

/**
 * Makes the judge of a document's API. Objects hold no members beside those described, so that nothing is answered that
 * nobody wrote down. A schema is compiled when the first answer of its kind comes.
 */
export function createResponseValidator(document: ApiDocument): ResponseValidator {
  // That the document is one is tested once; to check it for every test file costs as much as all that is judged.
  // Most schemas judge a few answers: quick to compile is worth more than quick to run.
  const quick = { code: { optimize: false } } as const;
  const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: true, validateSchema: false, ...quick });
  addFormats.default(ajv);
  ajv.addFormat("color", /^#[0-9a-f]{6}$/i);
  ajv.addFormat("binary", true);
  const closed = closing(document.components.schemas);
  ajv.addSchema({ $id: "api", components: { schemas: closed.schemas } });
  const routes = routesOf(document);
  const compiled = new Map<Json, ValidateFunction>();

  const validatorOf = (schema: Json): ValidateFunction => {
    const known = compiled.get(schema) ?? ajv.compile(rebased(closed.close(schema)));
    compiled.set(schema, known);
    return known;
  };

  return ({ method, path, status, contentType, text }) => {
    if (method === "OPTIONS") return null;
    const operation = routes(method, path);
    if (!operation)
      return UNSERVED_STATUSES.has(status) ? null : `${method} ${path} is not described and answered ${status}`;
    const where = `${operation.operationId} (${method} ${path})`;
    const answer = resolved(document, operation.responses[String(status)]);
    if (!answer) return `${where}: status ${status} is not described: ${text?.slice(0, 500)}`;
    if (!answer.content) return contentType === null ? null : `${where}: ${status} has a body that is not described`;
    if (method === "HEAD") return null;
    const type = contentType?.split(";", 1)[0] ?? "";
    const media = answer.content[type] ?? answer.content["*/*"];
    if (!media) return `${where}: ${status} has the content type ${contentType}`;
    if (text === null) return null;
    const validate = validatorOf(media.schema);
    if (validate(JSON.parse(text))) return null;
    const [error] = validate.errors ?? [];
    const member = JSON.stringify(error?.params);
    return `${where}: ${status} does not fit at ${error?.instancePath || "/"}: ${error?.message} ${member}`;
  };
}

function resolved({ components }: ApiDocument, answer: AnswerObject | undefined): AnswerObject | undefined {
  return answer?.$ref ? components.responses[answer.$ref.split("/").at(-1) as string] : answer;
}

/** Finds the operation of a path; a literal segment wins over a placeholder. */
function routesOf({ paths }: ApiDocument): (method: string, path: string) => Operation | null {
  const patterns = Object.entries(paths).map(([path, methods]) => ({
    pattern: new RegExp(`^/api${path.replace(/[.]/g, "\\.").replace(/\{\w+\}/g, "[^/]+")}/?$`),
    placeholders: path
      .split("/")
      .map((segment) => (segment.startsWith("{") ? "1" : "0"))
      .join(""),
    methods,
  }));
  patterns.sort((a, b) => (a.placeholders < b.placeholders ? -1 : 1));
  const byLength = new Map<number, typeof patterns>();
  for (const one of patterns) {
    const { length } = one.placeholders;
    byLength.set(length, [...(byLength.get(length) ?? []), one]);
  }
  return (method, path) => {
    const wanted = method === "HEAD" ? "get" : method.toLowerCase();
    // Behind `/api`, without the slash that a path may end in.
    const alike = byLength.get(path.replace(/\/$/, "").split("/").length - 1) ?? [];
    return alike.find(({ pattern, methods }) => pattern.test(path) && methods[wanted])?.methods[wanted] ?? null;
  };
}

/** References of a schema that stands outside the document. */
function rebased(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"api#/components/')) as Json;
}

function flattened(part: Json): Json[] {
  return Array.isArray(part.allOf) ? (part.allOf as Json[]).flatMap(flattened) : [part];
}

/** Objects with described members take no others. What is put together of several parts is made one first. */
function closing(schemas: Readonly<Record<string, Json>>) {
  const close = (schema: unknown): unknown => {
    if (Array.isArray(schema)) return schema.map(close);
    if (typeof schema !== "object" || schema === null) return schema;
    const whole = Array.isArray((schema as Json).allOf)
      ? merged((schema as { allOf: Json[] }).allOf)
      : (schema as Json);
    const { examples: _examples, ...rest } = whole;
    const entries = Object.entries(rest).map(([key, value]) => [
      key,
      key === "properties"
        ? Object.fromEntries(Object.entries(value as Json).map(([n, s]) => [n, close(s)]))
        : close(value),
    ]);
    const open = !("properties" in rest) || "additionalProperties" in rest;
    return { ...Object.fromEntries(entries), ...(open ? {} : { additionalProperties: false }) };
  };
  const merged = (parts: readonly Json[]): Json => {
    const whole = parts
      .flatMap(flattened)
      .map(({ $ref, ...part }) => ($ref ? (schemas[String($ref).split("/").at(-1) as string] as Json) : part));
    const properties = Object.assign({}, ...whole.map((part) => part.properties)) as Json;
    return { type: "object", properties, required: whole.flatMap((part) => (part.required ?? []) as string[]) };
  };
  const closed = Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, close(schema)]));
  return { schemas: closed as Record<string, Json>, close: (schema: Json) => close(schema) as Json };
}
