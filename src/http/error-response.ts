import {
  CallerError,
  ConflictError,
  type ErrorType,
  type FieldError,
  InUseError,
  LimitError,
  TooManyRequestsError,
  UpstreamError,
} from "../lib/errors.ts";
import type { SentenceReference } from "../lib/sentences/reference.ts";
import { readSentence, sentence } from "../lib/sentences/sentences.ts";

/** Longer texts contain what the client sent. */
const MAX_EXPLANATION_LENGTH = 2_000;

/** An API error response. */
export interface ErrorResponse {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** The body as JSON value. */
  body: { status: number; type: string; message: string; errors: readonly FieldError[]; requestId: string } & Partial<
    Pick<InUseError, "dependents"> & { sentence: SentenceReference }
  >;
}

/** The only mapping of error types to HTTP statuses. @source docs/decisions/0002-errors.md */
export const STATUS_BY_ERROR_TYPE: Readonly<Record<ErrorType, number>> = {
  required: 400,
  "invalid-value": 400,
  "limit-exceeded": 400,
  unauthorized: 401,
  forbidden: 403,
  "not-found": 404,
  "method-not-allowed": 405,
  conflict: 409,
  "in-use": 409,
  "too-large": 413,
  "unsupported-media-type": 415,
  "wrong-host": 421,
  "too-many-requests": 429,
  upstream: 502,
  starting: 503,
  "outcome-unknown": 503,
  "storage-full": 507,
};

/** 405 for a path that exists but does not support the method; `allow` is the value of the Allow header. */
export class MethodNotAllowedError extends CallerError {
  readonly allow: string;

  constructor(allow: string) {
    super("method-not-allowed", sentence("request.method-not-allowed-for-this-path"));
    this.allow = allow;
  }
}

/** The token is missing or unknown. */
export function unauthorized(message = sentence("auth.access-token-is-missing-or-invalid")): CallerError {
  return new CallerError("unauthorized", message);
}

/** The Host header does not match this appliance. */
export function misdirectedRequest(): CallerError {
  return new CallerError("wrong-host", sentence("request.the-host-header-does-not-match-this-appliance-add-the"));
}

/** Maps any thrown value to an error response; unexpected errors become 500 without details. */
export function errorResponseOf(error: unknown, requestId: string): ErrorResponse {
  const known = describe(error);
  const type = known?.type ?? "internal";
  const status = known ? STATUS_BY_ERROR_TYPE[known.type] : 500;
  const message = known?.message ?? "Internal error.";
  return {
    status,
    headers: headersOf(error, type),
    body: {
      ...{ status, type, message, errors: (known?.faults ?? []).map(addSentence), requestId },
      ...sentenceOf(known?.faults.length === 0 ? message : ""),
      ...(error instanceof InUseError ? { dependents: error.dependents } : {}),
    },
  };
}

/** Adds the explanation of an invalid field as a sentence, which consoles show in the language of their user. */
function addSentence(fault: FieldError): FieldError {
  if (fault.reason !== undefined) return fault;
  const [, explanation = fault.message] = /^Field \S+ is not valid\.\s*(.*)$/s.exec(fault.message) ?? [];
  return { ...fault, ...sentenceOf(explanation) };
}

function sentenceOf(text: string): { sentence?: SentenceReference } {
  const sentence = text === "" || text.length > MAX_EXPLANATION_LENGTH ? null : readSentence(text);
  return sentence === null ? {} : { sentence };
}

/** True for unexpected errors (bugs), which must be logged. */
export function isBug(error: unknown): boolean {
  return describe(error) === null;
}

function describe(error: unknown): { type: ErrorType; message: string; faults: readonly FieldError[] } | null {
  if (error instanceof CallerError) return { type: error.type, message: publicMessage(error), faults: error.faults };
  if (error instanceof ConflictError) return withFieldError(error.type, error.message, error.field);
  if (error instanceof InUseError) return { type: error.type, message: error.message, faults: [] };
  if (error instanceof LimitError) return withFieldError(error.type, error.message, null);
  if (error instanceof UpstreamError) return { type: error.type, message: error.message, faults: [] };
  return null;
}

/**
 * For an invalid field the top-level message is a fixed sentence, because clients compare it; the explanation is in
 * `errors`.
 * @source docs/decisions/0002-errors.md
 */
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
