import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { replaceFile } from "../../lib/durable-file.ts";
import { copyOwner } from "../../lib/file-ownership.ts";

/** Revoked keys of the organisation as last sent by the cloud; also available while there is no link. */
export interface RevokedKeys {
  has(keyHash: string): boolean;
  /** Replaces the list; true if it changed. Throws Node's error if it cannot be saved. */
  update(keys: readonly string[]): boolean;
}

/** Loads the saved list; an unreadable one counts as empty, because the cloud sends it at each connection. */
export function createRevokedKeys(dataDir: string): RevokedKeys {
  const path = join(dataDir, "link", "revoked.json");
  let known = new Set(readSaved(path));
  return {
    has: (keyHash) => known.has(keyHash),
    update(keys) {
      if (keys.length === known.size && keys.every((key) => known.has(key))) return false;
      known = new Set(keys);
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      replaceFile(path, JSON.stringify(keys));
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
