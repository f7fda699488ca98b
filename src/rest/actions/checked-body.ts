import { faulty } from "../../base/errors.ts";
import { compileChecker } from "../../schema/check.ts";
import type { Field } from "../../schema/field.ts";

/**
 * Compiles the check of a body that makes no row by itself: what comes out are inner values of the members given, with
 * defaults. Throws CallerError naming every faulty member.
 */
export function bodyCheck(fields: Readonly<Record<string, Field>>) {
  const checker = compileChecker(fields);
  return (body: Readonly<Record<string, unknown>>): Record<string, unknown> => {
    const { values, faults } = checker.check(body, "create");
    if (faults.length > 0) throw faulty(faults);
    return values;
  };
}
