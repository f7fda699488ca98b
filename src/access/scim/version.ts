import { ScimRefusal } from "./refusal.ts";

/** The version of a resource, as `meta.version` and ETag name it. @source RFC 7644 §3.14 */
export function versionOf({ pk, updatedAt }: { pk: number; updatedAt: number }, more = ""): string {
  return `W/"${pk.toString(36)}-${updatedAt.toString(36)}${more}"`;
}

/** Throws ScimRefusal `precondition` unless `ifMatch` (null: nothing was said) names the version. */
export function requireVersion(ifMatch: string | null, version: string): void {
  if (ifMatch === null || names(ifMatch, version)) return;
  throw new ScimRefusal("precondition", "The resource was changed since it was read.");
}

/** True where a list of tags names a version. What an answer's tag says beyond the version does not count. */
export function names(tags: string, version: string): boolean {
  const bare = (tag: string): string =>
    tag
      .trim()
      .replace(/^W\//, "")
      .replace(/\.[\w-]*"$/, '"');
  return tags.split(",").some((tag) => tag.trim() === "*" || bare(tag) === bare(version));
}
