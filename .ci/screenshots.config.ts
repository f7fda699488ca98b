import { defineConfig, mergeConfig } from "vitest/config";
import tests from "./vitest.config.ts";

/** `npm run screenshots`: pictures of the console instead of tests. */
const pictures = mergeConfig(tests, defineConfig({ test: { testTimeout: 900_000, hookTimeout: 300_000 } }));

export default { ...pictures, test: { ...pictures.test, include: ["test/screenshots/*.shots.ts"] } };
