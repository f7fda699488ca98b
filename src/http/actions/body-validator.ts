import { validationError } from "../../lib/errors.ts";
import type { Field } from "../../schema/field.ts";
import { compileValidator } from "../../schema/validator.ts";

/**
 * Compiles a validator of a body that creates no row; returns internal values with defaults. Throws CallerError with
 * all invalid fields.
 */
export function compileBodyValidator(fields: Readonly<Record<string, Field>>) {
  const checker = compileValidator(fields);
  return (body: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const { values, faults } = checker.validate(body, "create");
    if (faults.length > 0) throw validationError(faults);
    return values;
  };
}
