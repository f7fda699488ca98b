import {
  CallerError,
  ConflictError,
  type ErrorType,
  type FieldError,
  LimitError,
  TooManyRequestsError,
  UpstreamError,
} from "../lib/errors.ts";

/** An error as the API answers it. */
export interface ErrorResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** The body as JSON value. */
  body: { status: number; type: string; message: string; errors: readonly FieldError[]; requestId: string };
}

/** The one place that turns a kind of fault into an HTTP status. @source decisions.md 2 */
export const STATUS_BY_ERROR_TYPE: Readonly<Record<ErrorType, number>> = {
  required: 400,
  "invalid-value": 400,
  "limit-exceeded": 400,
  unauthorized: 401,
  forbidden: 403,
  "not-found": 404,
  "method-not-allowed": 405,
  conflict: 409,
  "too-large": 413,
  "unsupported-media-type": 415,
  "wrong-host": 421,
  "too-many-requests": 429,
  upstream: 502,
  starting: 503,
  "outcome-unknown": 503,
  "storage-full": 507,
};

/** A path that exists but does not serve the method; `allow` lists what it serves. */
export class MethodNotAllowedError extends CallerError {
  readonly allow: string;

  constructor(allow: string) {
    super("method-not-allowed", "Method not allowed here.");
    this.allow = allow;
  }
}

/** No token, or one that is not known (any more). */
export function unauthorized(message = "Access token is missing or not valid."): CallerError {
  return new CallerError("unauthorized", message);
}

/** A Host header that names somebody else. */
export function misdirectedRequest(): CallerError {
  return new CallerError("wrong-host", "This appliance does not go by that name; the setting api.hosts may add it.");
}

/** The answer to whatever was thrown; what Carillon did not raise on purpose is a 500 that tells nothing. */
export function errorResponseOf(error: unknown, requestId: string): ErrorResponse {
  const known = describe(error);
  const type = known?.type ?? "internal";
  const status = known ? STATUS_BY_ERROR_TYPE[known.type] : 500;
  const message = known?.message ?? "Something went wrong inside Carillon.";
  return {
    status,
    headers: headersOf(error, type),
    body: { status, type, message, errors: known?.faults ?? [], requestId },
  };
}

/** True for errors that mean a mistake in Carillon itself, which the log must tell. */
export function isBug(error: unknown): boolean {
  return describe(error) === null;
}

function describe(error: unknown): { type: ErrorType; message: string; faults: readonly FieldError[] } | null {
  if (error instanceof CallerError) return { type: error.type, message: publicMessage(error), faults: error.faults };
  if (error instanceof ConflictError) return withFieldError(error.type, error.message, error.field);
  if (error instanceof LimitError) return withFieldError(error.type, error.message, null);
  if (error instanceof UpstreamError) return { type: error.type, message: error.message, faults: [] };
  return null;
}

/** Of a faulty field the bare sentence, which programs compare; what would be right stands in `errors`. @source decisions.md 2 */
function publicMessage({ type, message, faults }: CallerError): string {
  const field = faults[0]?.field ?? null;
  return type === "invalid-value" && field !== null ? `Field ${field} is not valid.` : message;
}

function withFieldError(type: ErrorType, message: string, field: string | null): ReturnType<typeof describe> {
  return { type, message, faults: [{ field, type, message }] };
}

function headersOf(error: unknown, type: string): Record<string, string> {
  if (error instanceof MethodNotAllowedError) return { Allow: error.allow };
  if (error instanceof TooManyRequestsError) return { "Retry-After": String(error.retryAfterS) };
  if (type === "unauthorized") return { "WWW-Authenticate": 'Bearer realm="carillon"' };
  if (type === "too-many-requests" || type === "starting") return { "Retry-After": "1" };
  return {};
}
