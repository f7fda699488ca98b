import { CallerError, ConflictError, type FieldError, validationError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import { collectionName } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { ActorContext } from "./store.ts";
import type { TableLayout } from "./table-layout.ts";

/** Runs a write; turns a violated UNIQUE constraint into a ConflictError that names the field. */
export function guardUnique<T>(layout: TableLayout, write: () => T): T {
  try {
    return write();
  } catch (error) {
    if ((error as { code?: string }).code !== "SQLITE_CONSTRAINT_UNIQUE") throw error;
    const column = /\.(\w+)$/.exec((error as Error).message)?.[1];
    const field = layout.columns.find((candidate) => candidate.name === column)?.field ?? column ?? "id";
    throw new ConflictError(sentence("error.field-field-is-already-in-use", { field }), field);
  }
}

/** Runs a deletion; a foreign key error means that a staged row of an open batch refers to the row. */
export function guardStagedReferences(remove: () => unknown): void {
  try {
    remove();
  } catch (error) {
    if ((error as { code?: string }).code !== "SQLITE_CONSTRAINT_FOREIGNKEY") throw error;
    throw new ConflictError(sentence("error.an-upload-that-is-still-running-refers-to-this-row-try-again-when-it"));
  }
}

/** Throws CallerError with all errors; returns when there are none. */
export function throwFieldErrors(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw validationError(errors);
}

/** An invalid-value error of a field; `detail` says what would be valid. */
export function invalidFieldError(field: string, detail: string): FieldError {
  return { field, type: "invalid-value", message: `Field ${field} is not valid. ${detail}` };
}

/** The same message for a missing row and for one that the caller may not see. */
export function referenceNotFoundError(field: string, id: string): FieldError {
  return invalidFieldError(field, sentence("field.no-resource-with-the-id-id-was-found", { id }));
}

/** Includes the number of rows only if the caller sees all rows of the resource. */
export function inUseError(from: AnyResource, holders: number, by: ActorContext): CallerError {
  const users =
    by.scope.domainVisibility.visible(from) === "all" ? `${holders} of ${collectionName(from)}` : collectionName(from);
  return new CallerError("conflict", sentence("field.must-not-be-deleted-still-used-by-users", { users }));
}
