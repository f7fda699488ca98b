import { existsSync, lchownSync, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const ROOT = 0;

/**
 * Gives `path`, and all below it, to the owner of the folder `like`: what root does must stay the daemon's to read. A link
 * is given away itself, never what it leads to.
 */
export function copyOwner(path: string, like: string): void {
  if (process.getuid?.() !== ROOT || !existsSync(path)) return;
  const { uid, gid } = statSync(like);
  if (uid === ROOT) return;
  const give = (each: string): void => {
    lchownSync(each, uid, gid);
    if (lstatSync(each).isDirectory()) for (const name of readdirSync(each)) give(join(each, name));
  };
  give(path);
}

/**
 * Does `work`, which is over when it returns, with the rights of the owner of the folder `like` alone: a daemon that was
 * taken over may have put links there that lead root elsewhere.
 */
export function runAsOwner<T>(like: string, work: () => T): T {
  const { uid, gid } = process.geteuid?.() === ROOT ? statSync(like) : { uid: ROOT, gid: ROOT };
  const groups = process.getgroups?.() ?? [];
  if (uid === ROOT) return work();
  process.setgroups?.([gid]);
  process.setegid?.(gid);
  process.seteuid?.(uid);
  try {
    return work();
  } finally {
    process.seteuid?.(ROOT);
    process.setegid?.(ROOT);
    process.setgroups?.(groups);
  }
}
