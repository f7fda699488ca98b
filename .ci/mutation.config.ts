import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { defineConfig, mergeConfig } from "vitest/config";
import { type Mutant, mutated } from "../test/mutate/mutants.ts";
import tests from "./unit.config.ts";

const root = resolve(import.meta.dirname, "..");
const mutant = JSON.parse(process.env.CARILLON_MUTANT ?? "null") as Mutant | null;

/** `npm run mutate`: the tests with one mutant in the place of its source. What runs from dist/ is the product as it is. */
const mutating = mergeConfig(
  tests,
  defineConfig({
    plugins: [
      {
        name: "mutant",
        enforce: "pre",
        load: (id) => (mutant && id === resolve(root, mutant.file) ? mutated(readFileSync(id, "utf8"), mutant) : null),
      },
    ],
    test: { bail: 1, testTimeout: 20_000, hookTimeout: 20_000, expect: { poll: { timeout: 10_000 } } },
  }),
);

const include = ["test/{unit,api}/**/*.test.ts"];

export default { ...mutating, test: { ...mutating.test, include, reporters: [{}] } };
