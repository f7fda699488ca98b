/** What a caller did wrong, as the API names it. @source decisions.md 2 */
export type ErrorType =
  | "required"
  | "invalid-value"
  | "limit-exceeded"
  | "unauthorized"
  | "forbidden"
  | "not-found"
  | "method-not-allowed"
  | "conflict"
  | "too-large"
  | "unsupported-media-type"
  | "too-many-requests"
  | "wrong-host"
  | "upstream"
  | "starting"
  | "storage-full"
  | "outcome-unknown";

/** One faulty input field: `field` in API spelling, null when the fault is not about one field. */
export interface FieldError {
  field: string | null;
  type: ErrorType;
  message: string;
}

/** Base of every fault Carillon raises on purpose; `context` holds plain values for the log, never a secret. */
abstract class CarillonError extends Error {
  abstract readonly type: ErrorType | "bug";
  readonly context: Readonly<Record<string, unknown>>;

  constructor(message: string, context: Record<string, unknown> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.context = context;
  }
}

/** The caller's input or rights are at fault; changes nothing. `faults` names every faulty field, first one first. */
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

/** Too many attempts; the caller may come back after `retryAfterS` seconds. */
export class TooManyRequestsError extends CallerError {
  readonly retryAfterS: number;

  constructor(retryAfterS: number) {
    super("too-many-requests", `Too many attempts. Try again in ${retryAfterS} s.`);
    this.retryAfterS = retryAfterS;
  }
}

/** The state of a row forbids the change (unique name taken, row changed meanwhile); changes nothing. */
export class ConflictError extends CarillonError {
  readonly type = "conflict" as const;
  readonly field: string | null;

  constructor(message: string, field: string | null = null) {
    super(message, { field });
    this.field = field;
  }
}

/** A creation limit is reached; changes nothing. */
export class LimitError extends CarillonError {
  readonly type = "limit-exceeded" as const;

  constructor(limit: number, resourcePath: string) {
    super(`Limit of ${limit} ${resourcePath} reached.`, { limit, resourcePath });
  }
}

/** Something outside Carillon failed (a device, a server, the disk); `type` says which kind. */
export class UpstreamError extends CarillonError {
  readonly type: "upstream" | "starting" | "storage-full" | "outcome-unknown";

  constructor(type: UpstreamError["type"], message: string, context: Record<string, unknown> = {}, cause?: unknown) {
    super(message, context, cause);
    this.type = type;
  }
}

/** Only the cloud of the organisation changes that: whoever is linked to it hands the request on. */
export class OwnedByCloudError extends UpstreamError {
  constructor(message: string, context: Record<string, unknown> = {}) {
    super("starting", message, context);
  }
}

/** Carillon itself is wrong; never caused by input alone. */
export class BugError extends CarillonError {
  readonly type = "bug" as const;
}

/** The fault of a field whose value does not fit. */
export function invalidValue(field: string, detail?: string): CallerError {
  return validationError([
    { field, type: "invalid-value", message: `Field ${field} is not valid.${detail ? ` ${detail}` : ""}` },
  ]);
}

/** The fault of a required field that is absent. */
export function requiredValue(field: string): CallerError {
  return validationError([{ field, type: "required", message: `Field ${field} is required.` }]);
}

/** One error for all faulty fields; the first one gives type and message. `faults` must not be empty. */
export function validationError(faults: readonly FieldError[]): CallerError {
  const first = faults[0];
  if (!first) throw new BugError("faulty() needs at least one fault");
  return new CallerError(first.type, first.message, faults);
}

/** What the caller may not see or what is not there. */
export function notFound(): CallerError {
  return new CallerError("not-found", "Resource not found.");
}

/** A known caller without the permission for a visible resource. */
export function forbidden(): CallerError {
  return new CallerError("forbidden", "Permission denied.");
}
