import { validationError } from "../../lib/errors.ts";
import type { Field } from "../../schema/field.ts";
import { compileValidator } from "../../schema/validator.ts";

/**
 * Compiles the check of a body that makes no row by itself: what comes out are inner values of the members given, with
 * defaults. Throws CallerError naming every faulty member.
 */
export function compileBodyValidator(fields: Readonly<Record<string, Field>>) {
  const checker = compileValidator(fields);
  return (body: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const { values, faults } = checker.validate(body, "create");
    if (faults.length > 0) throw validationError(faults);
    return values;
  };
}
