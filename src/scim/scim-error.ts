import { CallerError, type ErrorType } from "../lib/errors.ts";

/** What SCIM calls the mistakes of clients; `precondition` is a version that is no longer the present one. @source RFC 7644 §3.12 */
export type ScimErrorType =
  | "invalidFilter"
  | "tooMany"
  | "uniqueness"
  | "mutability"
  | "invalidSyntax"
  | "invalidPath"
  | "noTarget"
  | "invalidValue"
  | "precondition";

const ERROR_TYPES: Partial<Readonly<Record<ScimErrorType, ErrorType>>> = {
  uniqueness: "conflict",
  precondition: "conflict",
  tooMany: "too-large",
};

/** A request of SCIM that is refused; `error` is its name there. Nothing was changed. */
export class ScimRequestError extends CallerError {
  readonly error: ScimErrorType;

  constructor(error: ScimErrorType, message: string) {
    const type = ERROR_TYPES[error] ?? "invalid-value";
    super(type, message, [{ field: null, type, message }]);
    this.error = error;
  }
}
