import type { Stats } from "node:fs";

/**
 * For `filter` of tar's `create`: packs a hard-linked file as a separate file under each name. As links they would be
 * refused on extraction, and tar hangs if it meets the second name first.
 */
export function withoutHardLinks(_path: string, stat: object): boolean {
  (stat as Stats).nlink = 1;
  return true;
}
