import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

/** The fault of a field without a word of what would be right: one argument, which may call something. */
const BARE = /\binvalidValue\((?:[^,()"'`]|"[^"]*"|\([^()]*\))*\)/g;

it("says what would be right in every field error", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter(
    (name) => name.endsWith(".ts") && name !== join("lib", "errors.ts"),
  );
  expect(files.length).toBeGreaterThan(100);
  const bare = files.flatMap((name) =>
    (readFileSync(join("src", name), "utf8").match(BARE) ?? []).map((text) => `${name}: ${text}`),
  );
  expect(bare).toEqual([]);
});
