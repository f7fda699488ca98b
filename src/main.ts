import { enableCompileCache } from "./lib/compile-cache.ts";
import { nodeVersionError } from "./lib/node-version.ts";

const error = nodeVersionError(process.versions.node);
if (error) {
  process.stderr.write(`${error}\n`);
  process.exit(1);
}
enableCompileCache(process.env);
// Loaded only now: the native modules crash an old Node, and code that is compiled before the cache is open is not in it.
const { main } = await import("./cli/start.ts");
await main();
