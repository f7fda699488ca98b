import type { ErrorType } from "../../lib/errors.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Action } from "../action.ts";
import { STATUS_BY_ERROR_TYPE } from "../error-response.ts";
import { objectSchema, responseMembers } from "./field-schemas.ts";

const TYPE: JsonSchema = { type: "string", enum: [...Object.keys(STATUS_BY_ERROR_TYPE), "internal"] };

/** The body of every error. @source decisions.md 2 */
export const ERROR_SCHEMA: JsonSchema = {
  type: "object",
  required: ["status", "type", "message", "errors", "requestId"],
  properties: {
    status: { type: "integer", description: "The HTTP status." },
    type: { ...TYPE, description: "What went wrong, in one word." },
    message: { type: "string", description: "What went wrong, in a sentence; of several faults the first." },
    errors: {
      type: "array",
      description: "Every faulty field.",
      items: {
        type: "object",
        required: ["field", "type", "message"],
        properties: {
          field: { type: ["string", "null"], description: "Null when no field is at fault." },
          type: TYPE,
          message: { type: "string" },
        },
      },
    },
    requestId: { type: "string", description: "Stands in the log too, and in the header X-Request-Id." },
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
  400: "Something in the request is missing or not valid, or a limit is reached.",
  401: "There is no token, or it is not known.",
  403: "The user lacks the permission.",
  404: "There is nothing there, or nothing that the user may see.",
  405: "The path does not serve the method; Allow says which it does.",
  409: "Taken already, in use, or changed since If-Match.",
  413: "The body or a file is too large.",
  415: "The body's media type is none of those below, or a file is of another kind than allowed.",
  421: "The Host header names somebody else.",
  429: "Too many attempts; Retry-After says when to try again.",
  500: "A fault in Carillon.",
  502: "A system that had to answer did not.",
  503: "The appliance is starting, or its disk failed.",
  507: "The disk is full.",
};

/** The answers to what went wrong, by component name. */
export function errorResponses(): Record<string, JsonSchema> {
  const statuses = [...new Set([...Object.values(STATUS_BY_ERROR_TYPE), 500])].sort();
  return Object.fromEntries(statuses.map((status) => [`Error${status}`, errorResponse(status)]));
}

/** An answer that is a page. */
export const PAGE_RESPONSE: JsonSchema = {
  description: "A page that says so.",
  content: { "text/html": { schema: { type: "string" } } },
};

/** An answer that sends a browser on. */
export const REDIRECT_RESPONSE: JsonSchema = {
  description: "The next page.",
  headers: { Location: { schema: { type: "string" } } },
};

/** What an endpoint may answer when something went wrong; `refuses` says where that is more than the usual error. */
export function errorResponsesOf(endpoint: {
  open: boolean;
  hasBody: boolean;
  refuses: Action["errorResponse"] | undefined;
}): Record<string, JsonSchema> {
  const statuses = [400, 404, 421, 429, 500, 503];
  // Without a token too: a page of another site is refused.
  if (!endpoint.open) statuses.push(401, 403);
  // A page says what another site refused, or that it can't be reached.
  if (endpoint.refuses?.kind === "page" && !endpoint.hasBody) statuses.push(403, 502);
  if (endpoint.hasBody) statuses.push(...(endpoint.open ? [401, 403] : []), 409, 413, 415, 502, 507);
  return Object.fromEntries(
    statuses.sort().map((status) => [String(status), errorResponseWith(status, endpoint.refuses)]),
  );
}

function errorResponseWith(status: number, refuses: Action["errorResponse"] | undefined): JsonSchema {
  const usual = { $ref: `#/components/responses/Error${status}` };
  // Whom the Host header names is asked before anything else.
  if (!refuses || status === 421) return usual;
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
  if (status === 405) return { Allow: header("Methods that the path serves.") };
  if (status === 429) return { "Retry-After": header("Seconds to wait.") };
  return null;
}

function typesOf(status: number): ErrorType[] {
  return (Object.keys(STATUS_BY_ERROR_TYPE) as ErrorType[]).filter((type) => STATUS_BY_ERROR_TYPE[type] === status);
}
