import { enableCompileCache } from "./lib/compile-cache.ts";
import { refuseMetadataAddresses } from "./lib/metadata-addresses.ts";
import { nodeVersionError } from "./lib/node-version.ts";

const error = nodeVersionError(process.versions.node);
if (error) {
  process.stderr.write(`${error}\n`);
  process.exit(1);
}
enableCompileCache(process.env);
// Loaded only now: native modules crash an old Node version, and code loaded before the compile cache is open is not cached.
refuseMetadataAddresses();
const { main } = await import("./cli/start.ts");
await main();
