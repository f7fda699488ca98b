import { ScimRequestError } from "./scim-error.ts";

/** The version of a resource, as `meta.version` and ETag name it. @source RFC 7644 §3.14 */
export function buildEtag({ pk, updatedAt }: { pk: number; updatedAt: number }, more = ""): string {
  return `W/"${pk.toString(36)}-${updatedAt.toString(36)}${more}"`;
}

/** Throws ScimRequestError `precondition` unless `ifMatch` (null: nothing was said) names the version. */
export function assertEtagMatches(ifMatch: string | null, version: string): void {
  if (ifMatch === null || matchesEtag(ifMatch, version)) return;
  throw new ScimRequestError("precondition", "The resource was changed since it was read.");
}

/** True where a list of tags names a version. What an answer's tag says beyond the version does not count. */
export function matchesEtag(tags: string, version: string): boolean {
  const bare = (tag: string): string =>
    tag
      .trim()
      .replace(/^W\//, "")
      .replace(/\.[\w-]*"$/, '"');
  return tags.split(",").some((tag) => tag.trim() === "*" || bare(tag) === bare(version));
}
