import { resolve } from "node:path";
import { defineConfig } from "vitest/config";
import { closingReporter } from "./closing-reporter.ts";

const root = resolve(import.meta.dirname, "..");

export default defineConfig({
  root,
  // Inline plugins in tests must see the same module instances as the room under test, not those in dist/.
  resolve: { alias: { "#plugin-api": resolve(root, "src/plugin-api/index.ts") } },
  cacheDir: resolve(root, "node_modules/.vite"),
  test: {
    dir: root,
    include: ["test/{unit,api,e2e,plugins,rules,sim,console}/**/*.test.ts"],
    // Processes, not threads: tests send signals, load native modules and measure the event loop.
    pool: "forks",
    // The files of a process share its modules, which hold no state: loading the product for each file costs a sixth of the time.
    isolate: false,
    // Stories wait for daemons, browsers and peers most of the time: more of them than cores run at once.
    maxWorkers: 4,
    setupFiles: [resolve(root, "test/support/vitest-setup.ts")],
    globalSetup: resolve(import.meta.dirname, "global-setup.ts"),
    // Limits end what hangs; they measure nothing. A machine under load takes many times as long as a free one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 90_000 } },
    reporters: ["default", closingReporter()],
  },
});
