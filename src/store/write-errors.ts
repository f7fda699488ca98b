import { CallerError, ConflictError, type FieldError, validationError } from "../lib/errors.ts";
import { collectionName } from "../schema/catalogue.ts";
import type { AnyResource } from "../schema/resource.ts";
import type { ActorContext } from "./store.ts";
import type { TableLayout } from "./table-layout.ts";

/** Runs a write. Throws ConflictError, naming the field, where another row holds what must be unique. */
export function guardUnique<T>(layout: TableLayout, write: () => T): T {
  try {
    return write();
  } catch (error) {
    if ((error as { code?: string }).code !== "SQLITE_CONSTRAINT_UNIQUE") throw error;
    const column = /\.(\w+)$/.exec((error as Error).message)?.[1];
    const field = layout.columns.find((candidate) => candidate.name === column)?.field ?? column ?? "id";
    throw new ConflictError(`Field ${field} is already in use.`, field);
  }
}

/** Rows that are still hidden may refer to a row; all others have let go of it. */
export function guardStagedReferences(remove: () => unknown): void {
  try {
    remove();
  } catch (error) {
    if ((error as { code?: string }).code !== "SQLITE_CONSTRAINT_FOREIGNKEY") throw error;
    throw new ConflictError("Rows of an upload under way refer to it. Try again once it has ended.");
  }
}

/** Throws CallerError with all of them; returns when there are none. */
export function throwFieldErrors(faults: readonly FieldError[]): void {
  if (faults.length > 0) throw validationError(faults);
}

/** A fault of a field, in words. */
export function invalidFieldError(field: string, words: string): FieldError {
  return { field, type: "invalid-value", message: `Field ${field} is not valid. ${words}` };
}

/** own choice: what is not there and what may not be seen are told in the same words. */
export function referenceNotFoundError(field: string, id: string): FieldError {
  return invalidFieldError(field, `There is none with the id ${id}.`);
}

/** Somebody who does not see all of a family is not told how many of it there are. */
export function inUseError(from: AnyResource, holders: number, by: ActorContext): CallerError {
  const words =
    by.scope.domainVisibility.visible(from) === "all" ? `${holders} of ${collectionName(from)}` : collectionName(from);
  return new CallerError("conflict", `Still used by ${words}.`);
}
