import { resolve } from "node:path";
import { defineConfig, mergeConfig } from "vitest/config";
import tests from "./vitest.config.ts";

const root = resolve(import.meta.dirname, "..");
const watching = resolve(root, "test/contract/instrumentation");

/** `npm run contract`: the tests of the API, whose requests are watched and whose routes can be taken away. */
const watched = mergeConfig(
  tests,
  defineConfig({
    plugins: [
      {
        name: "watched-router",
        enforce: "pre",
        resolveId: (source, importer) =>
          source === "./router.ts" && importer === resolve(root, "src/http/api.ts")
            ? resolve(watching, "router.ts")
            : null,
      },
    ],
    // What is gone is often waited for in vain.
    test: { setupFiles: [resolve(watching, "hooks.ts")], testTimeout: 20_000 },
  }),
);

export default { ...watched, test: { ...watched.test, include: ["test/api/**/*.test.ts", "test/e2e/**/*.test.ts"] } };
