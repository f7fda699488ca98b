import { CallerError, type FaultType } from "../../base/errors.ts";

/** What SCIM calls the mistakes of clients; `precondition` is a version that is no longer the present one. @source RFC 7644 §3.12 */
export type ScimError =
  | "invalidFilter"
  | "tooMany"
  | "uniqueness"
  | "mutability"
  | "invalidSyntax"
  | "invalidPath"
  | "noTarget"
  | "invalidValue"
  | "precondition";

const TYPES: Partial<Readonly<Record<ScimError, FaultType>>> = {
  uniqueness: "conflict",
  precondition: "conflict",
  tooMany: "too-large",
};

/** A request of SCIM that is refused; `error` is its name there. Nothing was changed. */
export class ScimRefusal extends CallerError {
  readonly error: ScimError;

  constructor(error: ScimError, message: string) {
    const type = TYPES[error] ?? "invalid-value";
    super(type, message, [{ field: null, type, message }]);
    this.error = error;
  }
}
