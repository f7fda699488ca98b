import { defineConfig, mergeConfig } from "vitest/config";
import tests from "./vitest.config.ts";

/**
 * `npm run test:unit` and `npm run test:watch`: unit tests without set-up. Nothing is built first: tests that start threads
 * use the last build.
 */
const unit = mergeConfig(tests, defineConfig({}));

export default { ...unit, test: { ...unit.test, include: ["test/{unit,rules}/**/*.test.ts"], globalSetup: [] } };
