import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { copyOwner } from "../../lib/file-ownership.ts";

/** Keys that nobody of the organisation may trust any more, as the cloud told last; also while there is no link. */
export interface RevokedKeys {
  has(keyHash: string): boolean;
  /** Takes the cloud's list; true when it is another one. Throws Node's error where it can't be kept. */
  update(keys: readonly string[]): boolean;
}

/** Reads what was kept; a list that can't be read counts as empty, as the cloud tells it again. */
export function createRevokedKeys(dataDir: string): RevokedKeys {
  const path = join(dataDir, "link", "revoked.json");
  let known = new Set(readSaved(path));
  return {
    has: (keyHash) => known.has(keyHash),
    update(keys) {
      if (keys.length === known.size && keys.every((key) => known.has(key))) return false;
      known = new Set(keys);
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(`${path}.new`, JSON.stringify(keys), { mode: 0o600 });
      renameSync(`${path}.new`, path);
      copyOwner(dirname(path), dataDir);
      return true;
    },
  };
}

function readSaved(path: string): string[] {
  try {
    const found: unknown = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : [];
    return Array.isArray(found) ? found.filter((key) => typeof key === "string") : [];
  } catch {
    return [];
  }
}
