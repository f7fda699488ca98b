import { existsSync, lchownSync, lstatSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const ROOT = 0;

/**
 * Gives `path` and everything below it to the owner of the directory `like`, so that the daemon can read what root
 * wrote. For a symbolic link the link itself changes owner, never its target.
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
 * Runs the synchronous `work` with the rights of the owner of the directory `like` only: a compromised daemon may have
 * placed symbolic links there that would lead root elsewhere.
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
