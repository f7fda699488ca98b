import { chownSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Gives `path`, and all below it, to the owner of the folder `like`: what root does must stay the daemon's to read. */
export function keepOwner(path: string, like: string): void {
  if (process.getuid?.() !== 0 || !existsSync(path)) return;
  const { uid, gid } = statSync(like);
  if (uid === 0) return;
  const give = (each: string): void => {
    chownSync(each, uid, gid);
    if (statSync(each).isDirectory()) for (const name of readdirSync(each)) give(join(each, name));
  };
  give(path);
}
