import { writeFileSync } from "node:fs";
import { workerEntry } from "../lib/worker-entry.ts";

/**
 * Gives plugins in subfolders of `folder`, which lie outside the product, what `#plugin-api` stands for. Written anew at
 * every start, since the product may have moved.
 */
export function linkPluginApi(folder: URL): void {
  const api = workerEntry(import.meta.url, "../plugin-api/index");
  const door = { type: "module", private: true, imports: { "#plugin-api": "./plugin-api.js" } };
  writeFileSync(new URL("package.json", folder), `${JSON.stringify(door, null, 2)}\n`);
  writeFileSync(new URL("plugin-api.js", folder), `export * from ${JSON.stringify(api.href)};\n`);
}
