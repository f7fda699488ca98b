import type { ErrorType } from "../../lib/errors.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Action } from "../action.ts";
import { STATUS_BY_ERROR_TYPE } from "../error-response.ts";
import { objectSchema, responseMembers } from "./field-schemas.ts";

const TYPE: JsonSchema = { type: "string", enum: [...Object.keys(STATUS_BY_ERROR_TYPE), "internal"] };

const USE_PROPERTIES: Readonly<Record<string, JsonSchema>> = {
  type: { type: "string", description: "Resource, such as `scenarios`." },
  id: { type: "string", format: "uuid" },
  name: { type: ["string", "null"], description: "Null if the caller must not see it." },
};

/** Rows that use the row of a removal without being critical. @source docs/decisions/0435-in-use.md, Ordinary uses */
export const USES_SCHEMA: JsonSchema = {
  type: "array",
  description: "With dryRun: rows that would lose this one, such as templates with the group; at most 100.",
  items: {
    type: "object",
    required: ["type", "id", "name", "role"],
    properties: { ...USE_PROPERTIES, role: { type: "string", enum: ["ordinary"] } },
  },
};

const SENTENCE: JsonSchema = {
  type: "object",
  description:
    "The explanation of the message as a sentence of the catalogue, by code and parameters; absent for messages without a code.",
  required: ["code", "params"],
  properties: { code: { type: "string" }, params: { type: "object" } },
};

/** The body of every error. @source docs/decisions/0002-errors.md */
export const ERROR_SCHEMA: JsonSchema = {
  type: "object",
  required: ["status", "type", "message", "errors", "requestId"],
  properties: {
    status: { type: "integer", description: "HTTP status." },
    type: { ...TYPE, description: "Error type." },
    message: { type: "string", description: "Error message; the first of several errors." },
    sentence: SENTENCE,
    errors: {
      type: "array",
      description: "Errors by field.",
      items: {
        type: "object",
        required: ["field", "type", "message"],
        properties: {
          field: { type: ["string", "null"], description: "Null if the error concerns no field." },
          type: TYPE,
          message: { type: "string" },
          sentence: SENTENCE,
          reason: {
            type: "object",
            description:
              "The explanation of the message as a code with parameters; absent for messages without a code.",
            required: ["code", "params"],
            properties: {
              code: { type: "string" },
              params: {
                type: "object",
                additionalProperties: {
                  anyOf: [{ type: "string" }, { type: "number" }, { type: "array", items: { type: "string" } }],
                },
              },
            },
          },
        },
      },
    },
    dependents: {
      type: "array",
      description: "For `in-use`: the emergencies, inputs and bells that use the row, at most 100.",
      items: {
        type: "object",
        required: ["type", "id", "name", "role", "left"],
        properties: {
          ...USE_PROPERTIES,
          role: { type: "string", enum: ["emergency", "input", "bells"] },
          left: {
            type: ["object", "null"],
            description:
              "Recipients that the template of the use would still have after the removal of a group, list or user; null if they are not counted.",
            required: ["devices", "users"],
            properties: { devices: { type: "integer", minimum: 0 }, users: { type: "integer", minimum: 0 } },
          },
        },
      },
    },
    requestId: { type: "string", description: "Request id, also in the log and in the header X-Request-Id." },
  },
  examples: [
    {
      status: 400,
      type: "required",
      message: "Field name is required.",
      errors: [{ field: "name", type: "required", message: "Field name is required." }],
      requestId: "0190b7c2-7f3a-7000-8000-3f1d2c4b5a69-1",
    },
  ],
};

const STATUS_DESCRIPTIONS: Readonly<Record<number, string>> = {
  400: "A field is missing or invalid, or a limit is reached.",
  401: "The token is missing, unknown, expired or revoked.",
  403: "The user lacks the permission.",
  404: "Not found, or not visible to the user.",
  405: "The path does not support the method; see the Allow header.",
  409: "Conflict: already exists, in use, or changed since If-Match.",
  413: "The body or a file is too large.",
  415: "The media type of the body or of a file is not supported.",
  421: "The Host header does not match this appliance.",
  429: "Rate limit exceeded; see Retry-After.",
  500: "Internal error.",
  502: "An upstream system failed or did not respond.",
  503: "The appliance is starting, or the outcome of a write is unknown.",
  507: "The disk is full.",
};

/** Error responses by component name. */
export function errorResponses(): Record<string, JsonSchema> {
  const statuses = [...new Set([...Object.values(STATUS_BY_ERROR_TYPE), 500])].sort();
  return Object.fromEntries(statuses.map((status) => [`Error${status}`, errorResponse(status)]));
}

/** An HTML response. */
export const PAGE_RESPONSE: JsonSchema = {
  description: "An HTML error page.",
  content: { "text/html": { schema: { type: "string" } } },
};

/** A redirect response. */
export const REDIRECT_RESPONSE: JsonSchema = {
  description: "Redirect to the next page.",
  headers: { Location: { schema: { type: "string" } } },
};

/** Error responses of an endpoint; `refuses` is its error shape if it differs from the standard error. */
export function errorResponsesOf(endpoint: {
  open: boolean;
  hasBody: boolean;
  callsOut: boolean;
  refuses: Action["errorResponse"] | undefined;
}): Record<string, JsonSchema> {
  const statuses = [400, 404, 421, 429, 500, 503];
  // Cross-origin requests are refused even without a token.
  if (!endpoint.open) statuses.push(401, 403);
  if (endpoint.callsOut && !endpoint.hasBody) statuses.push(502);
  // Login pages also show upstream failures.
  if (endpoint.refuses?.kind === "page" && !endpoint.hasBody) statuses.push(403, 502);
  if (endpoint.hasBody) statuses.push(...(endpoint.open ? [401, 403] : []), 409, 413, 415, 502, 507);
  return Object.fromEntries(
    statuses.sort().map((status) => [String(status), errorResponseWith(status, endpoint.refuses)]),
  );
}

function errorResponseWith(status: number, refuses: Action["errorResponse"] | undefined): JsonSchema {
  const standard = { $ref: `#/components/responses/Error${status}` };
  // The Host header is checked before routing.
  if (!refuses || status === 421) return standard;
  if (refuses.kind === "page") return PAGE_RESPONSE;
  const schema = { allOf: [{ $ref: "#/components/schemas/Error" }, objectSchema(responseMembers(refuses.fields))] };
  return { description: STATUS_DESCRIPTIONS[status] ?? "", content: { "application/json": { schema } } };
}

function errorResponse(status: number): JsonSchema {
  const headers = headersOf(status);
  return {
    description: STATUS_DESCRIPTIONS[status] ?? typesOf(status).join(", "),
    ...(headers ? { headers } : {}),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };
}

function headersOf(status: number): JsonSchema | null {
  const header = (description: string): JsonSchema => ({ description, schema: { type: "string" } });
  if (status === 401) return { "WWW-Authenticate": header("How to authenticate.") };
  if (status === 405) return { Allow: header("Methods supported by the path.") };
  if (status === 429) return { "Retry-After": header("Seconds to wait.") };
  return null;
}

function typesOf(status: number): ErrorType[] {
  return (Object.keys(STATUS_BY_ERROR_TYPE) as ErrorType[]).filter((type) => STATUS_BY_ERROR_TYPE[type] === status);
}
