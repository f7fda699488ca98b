import { hash } from "node:crypto";
import { ConflictError } from "../lib/errors.ts";
import { sentence } from "../lib/sentences/sentences.ts";
import type { RowBase } from "../schema/resource.ts";

/** Version of a row for `If-Match`; changes with every update of the row. */
export function rowVersion({ pk, updatedAt }: Pick<RowBase, "pk" | "updatedAt">): string {
  return `"${pk.toString(36)}-${updatedAt.toString(36)}"`;
}

/**
 * ETag of a response: the row version, if it shows a row, plus a hash of the text, because the text also depends on
 * permissions, related rows and current state.
 */
export function responseEtag(version: string | null, text: string): string {
  const sum = hash("sha1", text, "base64url").slice(0, 16);
  return version === null ? `"${sum}"` : `${version.slice(0, -1)}.${sum}"`;
}

/** True if `If-None-Match` contains the ETag of the response. @source RFC 9110 §13.1.2 */
export function matchesIfNoneMatch(ifNoneMatch: string | undefined, tag: string | number | undefined): boolean {
  if (ifNoneMatch === undefined || tag === undefined) return false;
  const names = ifNoneMatch.split(",").map(unquoted);
  return names.includes("*") || names.includes(unquoted(String(tag)));
}

/**
 * Throws ConflictError if the row has none of the versions listed in `ifMatch`.
 * @source docs/decisions/0002-errors.md; RFC 9110 §13.1.1
 */
export function assertIfMatch(ifMatch: string, row: Pick<RowBase, "pk" | "updatedAt">): void {
  // Only the row version counts: the hash part of the ETag may change without a change of the row.
  const versions = ifMatch.split(",").map((version) => unquoted(version).replace(/\.[\w-]*"$/, '"'));
  if (versions.includes("*") || versions.includes(rowVersion(row))) return;
  throw new ConflictError(sentence("conflict.the-resource-has-changed-since-it-was-read-read-it"));
}

function unquoted(tag: string): string {
  return tag.trim().replace(/^W\//, "");
}
