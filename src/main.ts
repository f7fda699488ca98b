import { cacheCompiledCode } from "./base/compile-cache.ts";
import { nodeFault } from "./base/node-version.ts";

const fault = nodeFault(process.versions.node);
if (fault) {
  process.stderr.write(`${fault}\n`);
  process.exit(1);
}
cacheCompiledCode(process.env);
// Loaded only now: the native modules crash an old Node, and code that is compiled before the cache is open is not in it.
const { runCommand } = await import("./cli/start.ts");
await runCommand();
