import { resolve } from "node:path";
import tests from "./vitest.config.ts";

/**
 * `npm run test:unit` and `npm run test:watch`: unit tests without set-up. Nothing is built first: tests that start threads
 * use the last build.
 */
export default {
  ...tests,
  test: {
    ...tests.test,
    include: ["test/{unit,rules}/**/*.test.ts"],
    setupFiles: [resolve(import.meta.dirname, "../test/support/unit-setup.ts")],
    globalSetup: [],
  },
};
