import type { SentenceReference } from "./sentences/reference.ts";

/** Type of an error, as the API names it. @source docs/decisions/0002-errors.md */
export type ErrorType =
  | "required"
  | "invalid-value"
  | "limit-exceeded"
  | "unauthorized"
  | "forbidden"
  | "not-found"
  | "method-not-allowed"
  | "conflict"
  | "in-use"
  | "too-large"
  | "unsupported-media-type"
  | "too-many-requests"
  | "wrong-host"
  | "upstream"
  | "starting"
  | "storage-full"
  | "outcome-unknown";

/** Code and parameters of an explanation, from which clients make a sentence in the language of their user. */
export interface ErrorReason {
  code: string;
  params: Readonly<Record<string, string | number | readonly string[]>>;
}

/** One invalid input field: `field` in API spelling, null when the error is not about one field. */
export interface FieldError {
  field: string | null;
  type: ErrorType;
  message: string;
  /** Says the same as the message. */
  reason?: ErrorReason;
  /** The explanation of the message as a sentence of the catalogue. */
  sentence?: SentenceReference;
}

/** Base of every error that Carillon throws on purpose; `context` holds plain values for the log, never a secret. */
abstract class CarillonError extends Error {
  abstract readonly type: ErrorType | "bug";
  readonly context: Readonly<Record<string, unknown>>;

  constructor(message: string, context: Record<string, unknown> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.context = context;
  }
}

/** The caller's input or permissions are wrong; nothing has changed. `faults` lists every invalid field in order. */
export class CallerError extends CarillonError {
  readonly type: ErrorType;
  readonly faults: readonly FieldError[];

  constructor(
    type: ErrorType,
    message: string,
    faults: readonly FieldError[] = [],
    context: Readonly<Record<string, unknown>> = {},
  ) {
    super(message, context);
    this.type = type;
    this.faults = faults;
  }
}

/** Rate limit exceeded; the caller may retry after `retryAfterS` seconds. */
export class TooManyRequestsError extends CallerError {
  readonly retryAfterS: number;

  constructor(retryAfterS: number) {
    super("too-many-requests", `Too many attempts. Try again in ${retryAfterS} s.`);
    this.retryAfterS = retryAfterS;
  }
}

/** The state of a row forbids the change (name already in use, row changed concurrently); nothing has changed. */
export class ConflictError extends CarillonError {
  readonly type = "conflict" as const;
  readonly field: string | null;

  constructor(message: string, field: string | null = null) {
    super(message, { field });
    this.field = field;
  }
}

/** Something that must not change without notice uses the row; nothing has changed. */
export class InUseError extends CarillonError {
  readonly type = "in-use" as const;
  /** The users; without a name those that the caller must not see. */
  readonly dependents: readonly {
    type: string;
    id: string;
    name: string | null;
    role: string;
    /** Devices and people that its message would still reach; null if that is not known. */
    left: { devices: number; users: number } | null;
  }[];

  constructor(dependents: InUseError["dependents"]) {
    const named = dependents.flatMap(({ name }) => (name === null ? [] : [`“${name}”`])).slice(0, 3);
    const more = dependents.length - named.length;
    const all = [...named, ...(more > 0 ? [`${more} more`] : [])].join(", ");
    super(`In use by ${all}. Repeat with ?detach=true to carry out the change nevertheless.`);
    this.dependents = dependents;
  }
}

/** A creation limit is reached; nothing has changed. */
export class LimitError extends CarillonError {
  readonly type = "limit-exceeded" as const;

  constructor(message: string, limit: number) {
    super(message, { limit });
  }
}

/** Something outside Carillon failed (a device, a server, the disk); `type` says what. */
export class UpstreamError extends CarillonError {
  readonly type: "upstream" | "starting" | "storage-full" | "outcome-unknown";

  constructor(type: UpstreamError["type"], message: string, context: Record<string, unknown> = {}, cause?: unknown) {
    super(message, context, cause);
    this.type = type;
  }
}

/** Only the organisation's cloud may change this: an appliance that is linked to it proxies the request. */
export class OwnedByCloudError extends UpstreamError {
  constructor(message: string, context: Record<string, unknown> = {}) {
    super("starting", message, context);
  }
}

/** An internal error; never caused by input alone. */
export class BugError extends CarillonError {
  readonly type = "bug" as const;
}

/** The error for a field with an invalid value. */
export function invalidValue(field: string, detail?: string, reason?: ErrorReason): CallerError {
  const message = `Field ${field} is not valid.${detail ? ` ${detail}` : ""}`;
  return validationError([{ field, type: "invalid-value", message, ...(reason ? { reason } : {}) }]);
}

/** The error for a missing required field. */
export function requiredValue(field: string): CallerError {
  return validationError([{ field, type: "required", message: `Field ${field} is required.` }]);
}

/** One error for all invalid fields; the first one gives type and message. `faults` must not be empty. */
export function validationError(faults: readonly FieldError[]): CallerError {
  const first = faults[0];
  if (!first) throw new BugError("validationError() needs at least one field error.");
  return new CallerError(first.type, first.message, faults);
}

/** The error for a resource that does not exist or that the caller may not see. */
export function notFound(): CallerError {
  return new CallerError("not-found", "Resource not found.");
}

/** The error for a known caller without permission for a visible resource. */
export function forbidden(): CallerError {
  return new CallerError("forbidden", "Permission denied.");
}
