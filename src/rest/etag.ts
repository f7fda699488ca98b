import { ConflictError } from "../base/errors.ts";
import type { RowBase } from "../schema/resource.ts";

/** The version of a row, for `If-Match`: every change gives the row a later time. */
export function etagOf({ pk, updatedAt }: Pick<RowBase, "pk" | "updatedAt">): string {
  return `"${pk.toString(36)}-${updatedAt.toString(36)}"`;
}

/** Throws ConflictError when the row is no longer one of the versions that `ifMatch` names. @source decisions.md 2; RFC 9110 §13.1.1 */
export function requireMatch(ifMatch: string, row: Pick<RowBase, "pk" | "updatedAt">): void {
  const versions = ifMatch.split(",").map((version) => version.trim());
  if (versions.includes("*") || versions.includes(etagOf(row))) return;
  throw new ConflictError("The resource was changed since it was read.");
}
