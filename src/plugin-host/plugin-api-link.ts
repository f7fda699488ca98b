import { writeFileSync } from "node:fs";
import { workerEntry } from "../lib/worker-entry.ts";

/**
 * Makes `#plugin-api` resolve for plugins in subfolders of `folder`, which is outside the product. Rewritten at every
 * start, since the product may have moved.
 */
export function linkPluginApi(folder: URL): void {
  const api = workerEntry(import.meta.url, "../plugin-api/index");
  const packageJson = { type: "module", private: true, imports: { "#plugin-api": "./plugin-api.js" } };
  writeFileSync(new URL("package.json", folder), `${JSON.stringify(packageJson, null, 2)}\n`);
  writeFileSync(new URL("plugin-api.js", folder), `export * from ${JSON.stringify(api.href)};\n`);
}
