import type { Stats } from "node:fs";

/**
 * For `filter` of tar's `create`: a file with several names is packed under each of them as a file of its own. As links
 * they would be refused where the archive is unpacked, and tar stands still for ever where it meets the second name first.
 */
export function withoutHardLinks(_path: string, stat: object): boolean {
  (stat as Stats).nlink = 1;
  return true;
}
