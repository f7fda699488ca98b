import { CallerError, type ErrorType } from "../lib/errors.ts";

/** SCIM error types; `precondition` means that If-Match does not match the current version. @source RFC 7644 §3.12 */
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

/** A refused SCIM request; nothing was changed. */
export class ScimRequestError extends CallerError {
  readonly error: ScimErrorType;

  constructor(error: ScimErrorType, message: string) {
    const type = ERROR_TYPES[error] ?? "invalid-value";
    super(type, message, [{ field: null, type, message }]);
    this.error = error;
  }
}
