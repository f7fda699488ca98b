import { execFileSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { build, built } from "../../../.ci/setup/build.mjs";
import { filesBelow, fingerprint, root } from "../../../.ci/setup/tree.mjs";
import { makeTempDir } from "../../support/temp-dir.ts";

/** A small repository of its own that is built with the real settings. */
function makeRepository(files: Record<string, string>): string {
  const folder = makeTempDir();
  mkdirSync(join(folder, ".ci/setup"), { recursive: true });
  for (const name of ["package.json", "package-lock.json", ".ci/setup/bundle.mjs", ".ci/setup/client.mjs"]) {
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
  "src/lib/a.ts": "export const a: number = 1;\n",
  "src/main.ts": `import { a } from "./lib/a.ts";\nconsole.log(a, import.meta.url);\n`,
  "src/plugin-api/index.ts": "export const door = 1;\n",
  "plugins/x/index.ts": `import { door } from "#plugin-api";\nexport default door;\n`,
  "plugins/x/plugin.json": `{"name":"x"}`,
};

/** What a built program prints. */
function run(folder: string, program: string): string {
  return execFileSync(process.execPath, [join(folder, "dist", program)], { encoding: "utf8" });
}

describe("build", () => {
  it("bundles entry points, copies manifests and stays current until a source changes", () => {
    const folder = makeRepository(PRODUCT);
    expect(built(folder, "main")).toBe(false);
    expect(build(folder, "main")).toBe(true);
    expect(built(folder, "main")).toBe(true);
    expect(existsSync(join(folder, "dist/plugins/x/plugin.json"))).toBe(true);
    expect(run(folder, "src/main.js")).toBe(`1 ${pathToFileURL(join(folder, "dist/src/main.js")).href}\n`);
    put(folder, "src/lib/b.ts", "export const b = 2;\n");
    expect(built(folder, "main")).toBe(false);
  });

  it("gives shared code the place of its source, and finds the modules of a folder", () => {
    const place = "export const place = import.meta.url;\n";
    const all = `export const all = import.meta.glob("../resources/*.ts", { eager: true });\n`;
    const prints = (path: string): string =>
      `import { place } from "${path}/lib/place.ts";\nimport { all } from "${path}/lib/all.ts";\nconsole.log(place, Object.keys(all).length);\n`;
    const folder = makeRepository({
      "src/lib/place.ts": place,
      "src/lib/all.ts": all,
      "src/resources/one.ts": "export default 1;\n",
      "src/resources/two.ts": "export default 2;\n",
      "src/main.ts": prints("."),
      "src/tools/simulator/main.ts": prints("../.."),
    });
    expect(build(folder, "main")).toBe(true);
    const printed = `${pathToFileURL(join(folder, "dist/src/lib/place.js")).href} 2\n`;
    expect([run(folder, "src/main.js"), run(folder, "src/tools/simulator/main.js")]).toEqual([printed, printed]);
  });

  it("removes what has lost its source", () => {
    const folder = makeRepository(PRODUCT);
    build(folder, "main");
    rmSync(join(folder, "plugins/x"), { recursive: true });
    renameSync(join(folder, "src/main.ts"), join(folder, "src/other-worker.ts"));
    expect(built(folder, "main")).toBe(false);
    build(folder, "main");
    const programs = filesBelow(join(folder, "dist/src")).map((file) => relative(join(folder, "dist/src"), file));
    expect(programs.filter((file) => file.endsWith(".js")).sort()).toEqual(["other-worker.js", "plugin-api/index.js"]);
    expect(existsSync(join(folder, "dist/plugins/x/plugin.json"))).toBe(false);
  });

  it("stays stale when a source can't be read", () => {
    const folder = makeRepository({ "src/main.ts": `import { gone } from "./gone.ts";\nconsole.log(gone);\n` });
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
    expect(run(folder, "test/bench/main.js")).toBe("1\n");
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
