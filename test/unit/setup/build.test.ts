import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { build, built } from "../../../.ci/setup/build.mjs";
import { filesBelow, fingerprint, root } from "../../../.ci/setup/tree.mjs";
import { makeTempDir } from "../../support/temp-dir.ts";

/** A small repository of its own that compiles with the real settings. */
function makeRepository(files: Record<string, string>): string {
  const folder = makeTempDir();
  for (const name of ["package.json", "package-lock.json", "tsconfig.json"]) {
    copyFileSync(join(root, name), join(folder, name));
  }
  mkdirSync(join(folder, ".ci/setup"), { recursive: true });
  for (const name of [".ci/tsconfig.harness.json", ".ci/setup/client.mjs"]) {
    copyFileSync(join(root, name), join(folder, name));
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  for (const [path, text] of Object.entries(files)) put(folder, path, text);
  return folder;
}

function put(folder: string, path: string, text: string): void {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const PRODUCT = {
  "src/base/a.ts": "export const a = 1;\n",
  "src/plugin-api/index.ts": "export const door = 1;\n",
  "plugins/x/index.ts": `import { door } from "#plugin-api";\nexport default door;\n`,
  "plugins/x/plugin.json": `{"name":"x"}`,
};

describe("build", () => {
  it("compiles sources, copies manifests and is current until a source changes", () => {
    const folder = makeRepository(PRODUCT);
    expect(built(folder, "main")).toBe(false);
    expect(build(folder, "main")).toBe(true);
    expect(built(folder, "main")).toBe(true);
    expect(readFileSync(join(folder, "dist/plugins/x/index.js"), "utf8")).toContain(`from "#plugin-api"`);
    expect(existsSync(join(folder, "dist/plugins/x/plugin.json"))).toBe(true);
    put(folder, "src/base/b.ts", "export const b = 2;\n");
    expect(built(folder, "main")).toBe(false);
  });

  it("removes what has lost its source", () => {
    const folder = makeRepository(PRODUCT);
    build(folder, "main");
    rmSync(join(folder, "plugins/x"), { recursive: true });
    renameSync(join(folder, "src/base/a.ts"), join(folder, "src/base/b.ts"));
    expect(built(folder, "main")).toBe(false);
    build(folder, "main");
    const files = filesBelow(join(folder, "dist/src/base")).map((file) => file.slice(file.lastIndexOf("/") + 1));
    expect(files.sort()).toEqual(["b.js", "b.js.map"]);
    expect(existsSync(join(folder, "dist/plugins/x/plugin.json"))).toBe(false);
  });

  it("stays stale when the compiler finds faults", () => {
    const folder = makeRepository({ "src/base/a.ts": "export const a: string = 1;\n" });
    expect(build(folder, "main")).toBe(false);
    expect(built(folder, "main")).toBe(false);
  });

  it("builds benchmarks and fault runs with the product, and needs none of them to be there", () => {
    const folder = makeRepository(PRODUCT);
    expect(build(folder, "harness")).toBe(true);
    expect([built(folder, "main"), built(folder, "harness")]).toEqual([true, true]);
    put(folder, "test/support/load.ts", "export const load = 1;\n");
    put(folder, "test/bench/main.ts", `import { load } from "../support/load.ts";\nconsole.log(load);\n`);
    expect([built(folder, "main"), built(folder, "harness")]).toEqual([true, false]);
    expect(build(folder, "harness")).toBe(true);
    expect(existsSync(join(folder, "dist/test/support/load.js"))).toBe(true);
  });
});

describe("fingerprint", () => {
  it("differs when a file is edited, added, moved or removed, and only then", () => {
    const folder = makeTempDir();
    const now = () => fingerprint(folder, filesBelow(folder));
    put(folder, "a.ts", "1");
    const seen = [now()];
    expect(now()).toBe(seen[0]);
    put(folder, "a.ts", "12");
    seen.push(now());
    put(folder, "deep/b.ts", "1");
    seen.push(now());
    renameSync(join(folder, "deep/b.ts"), join(folder, "deep/c.ts"));
    seen.push(now());
    rmSync(join(folder, "a.ts"));
    seen.push(now());
    expect(new Set(seen).size).toBe(5);
  });
});
