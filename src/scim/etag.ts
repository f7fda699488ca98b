import { ScimRequestError } from "./scim-error.ts";

/** Builds the version of a resource, for `meta.version` and ETag. @source RFC 7644 §3.14 */
export function buildEtag({ pk, updatedAt }: { pk: number; updatedAt: number }, more = ""): string {
  return `W/"${pk.toString(36)}-${updatedAt.toString(36)}${more}"`;
}

/** Throws ScimRequestError `precondition` unless `ifMatch` (null: no header) matches the version. */
export function assertEtagMatches(ifMatch: string | null, version: string): void {
  if (ifMatch === null || matchesEtag(ifMatch, version)) return;
  throw new ScimRequestError("precondition", "The resource has changed since it was read.");
}

/** True when a list of ETags contains the version; a suffix after the version is ignored. */
export function matchesEtag(tags: string, version: string): boolean {
  const bare = (tag: string): string =>
    tag
      .trim()
      .replace(/^W\//, "")
      .replace(/\.[\w-]*"$/, '"');
  return tags.split(",").some((tag) => tag.trim() === "*" || bare(tag) === bare(version));
}
