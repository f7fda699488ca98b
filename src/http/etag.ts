import { hash } from "node:crypto";
import { ConflictError } from "../lib/errors.ts";
import type { RowBase } from "../schema/resource.ts";

/** The version of a row, for `If-Match`: every change gives the row a later time. */
export function rowVersion({ pk, updatedAt }: Pick<RowBase, "pk" | "updatedAt">): string {
  return `"${pk.toString(36)}-${updatedAt.toString(36)}"`;
}

/**
 * The tag of an answer: the row's version, if it shows one, and what the text is, since it says more than the row (who may
 * do what, related rows, a state of this moment).
 */
export function responseEtag(version: string | null, text: string): string {
  const sum = hash("sha1", text, "base64url").slice(0, 16);
  return version === null ? `"${sum}"` : `${version.slice(0, -1)}.${sum}"`;
}

/** True when `If-None-Match` names the tag of the answer. @source RFC 9110 §13.1.2 */
export function matchesIfNoneMatch(ifNoneMatch: string | undefined, tag: string | number | undefined): boolean {
  if (ifNoneMatch === undefined || tag === undefined) return false;
  const names = ifNoneMatch.split(",").map(unquoted);
  return names.includes("*") || names.includes(unquoted(String(tag)));
}

/** Throws ConflictError when the row is no longer one of the versions that `ifMatch` names. @source decisions.md 2; RFC 9110 §13.1.1 */
export function assertIfMatch(ifMatch: string, row: Pick<RowBase, "pk" | "updatedAt">): void {
  // What the answer said beside the row may have changed without anybody having changed the row.
  const versions = ifMatch.split(",").map((version) => unquoted(version).replace(/\.[\w-]*"$/, '"'));
  if (versions.includes("*") || versions.includes(rowVersion(row))) return;
  throw new ConflictError("The resource was changed since it was read.");
}

function unquoted(tag: string): string {
  return tag.trim().replace(/^W\//, "");
}
