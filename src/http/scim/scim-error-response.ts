import { CallerError, ConflictError } from "../../lib/errors.ts";
import type { HttpResponse } from "../../lib/http-response.ts";
import { ScimRequestError } from "../../scim/scim-error.ts";
import { errorResponseOf } from "../error-response.ts";
import { SCIM_TYPE } from "./scim-requests.ts";

const ERROR = "urn:ietf:params:scim:api:messages:2.0:Error";

/** SCIM error response. @source RFC 7644 §3.12 */
export function scimErrorResponse(error: unknown): HttpResponse {
  const { status: defaultStatus, headers, body } = errorResponseOf(error, "");
  const status = statusOf(error, defaultStatus);
  const scimType = scimTypeOf(error);
  const payload = { schemas: [ERROR], status: String(status), ...(scimType ? { scimType } : {}), detail: body.message };
  return { status, headers, type: SCIM_TYPE, body: JSON.stringify(payload) };
}

function statusOf(error: unknown, defaultStatus: number): number {
  if (!(error instanceof ScimRequestError)) return defaultStatus;
  if (error.error === "precondition") return 412;
  return error.error === "tooMany" ? 400 : defaultStatus;
}

function scimTypeOf(error: unknown): string | null {
  if (error instanceof ScimRequestError) return error.error === "precondition" ? null : error.error;
  if (error instanceof ConflictError) return error.field === null ? "mutability" : "uniqueness";
  return error instanceof CallerError && (error.type === "invalid-value" || error.type === "required")
    ? "invalidValue"
    : null;
}
