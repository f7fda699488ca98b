import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { distributedPackages, isAllowedLicence, type LockFile } from "./licences.ts";
import { fixtureTree, ROOT, readSourceTree } from "./source-tree.ts";

const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as LockFile;
const web = readSourceTree(["src/console/web"], (path) => /\.tsx?$/.test(path));

describe("packages that come with the product", () => {
  const packages = distributedPackages(lock, web);

  it("have licences that allow it", () => {
    expect(packages.filter(({ licence }) => !isAllowedLicence(licence))).toEqual([]);
  });

  it("are those of the server and of the console, without tools", () => {
    const parts = new Map(packages.map(({ name, part }) => [name, part]));
    expect(Object.fromEntries(parts)).toMatchObject({ koa: "server", "better-sqlite3": "server", react: "console" });
    // A dependency of a dependency of the console.
    expect(parts.get("@floating-ui/core")).toBe("console");
    for (const tool of ["vitest", "typescript", "@biomejs/biome", "playwright-core"])
      expect(parts.has(tool)).toBe(false);
  });

  it("are in the lock file with exact versions", () => {
    const { dependencies = {} } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    for (const [name, version] of Object.entries(dependencies)) {
      expect([name, version]).toEqual([name, expect.stringMatching(/^\d+\.\d+\.\d+$/)]);
      expect(lock.packages[`node_modules/${name}`]?.version).toBe(version);
    }
  });

  it("are found where the code finds them", () => {
    const planted = {
      packages: {
        "": {},
        "node_modules/a": {
          version: "1.0.0",
          license: "MIT",
          dev: true,
          dependencies: { b: "2" },
          peerDependencies: { c: "1" },
        },
        "node_modules/a/node_modules/b": { version: "2.0.0", license: "GPL-3.0-only", dev: true },
        "node_modules/b": { version: "1.0.0", license: "MIT", dev: true },
        "node_modules/c": { version: "1.0.0", dev: true },
        "node_modules/@d/e": { version: "3.0.0", license: "ISC" },
      },
    };
    const files = fixtureTree({ "src/console/web/x.ts": 'import "node:path"; import "./y"; import { f } from "a/f";' });
    expect(distributedPackages(planted, files)).toEqual([
      { name: "@d/e", version: "3.0.0", licence: "ISC", part: "server" },
      { name: "a", version: "1.0.0", licence: "MIT", part: "console" },
      { name: "b", version: "2.0.0", licence: "GPL-3.0-only", part: "console" },
      { name: "c", version: "1.0.0", licence: "none", part: "console" },
    ]);
  });
});

describe("a licence", () => {
  it.each([
    "MIT",
    "(MIT OR CC0-1.0)",
    "(MIT OR EUPL-1.1+)",
    "GPL-3.0-only OR Apache-2.0",
    "MIT AND BSD-2-Clause",
    "(GPL-2.0-only OR MIT) AND ISC",
    "MPL-2.0",
  ])("is allowed: %s", (expression) => {
    expect(isAllowedLicence(expression)).toBe(true);
  });

  it.each([
    "",
    "none",
    "UNLICENSED",
    "GPL-3.0-only",
    "AGPL-3.0-or-later",
    "SSPL-1.0",
    "BUSL-1.1",
    "CC-BY-NC-4.0",
    "SEE LICENSE IN LICENSE.txt",
    "MIT AND GPL-3.0-only",
    "(MIT AND GPL-2.0-only) OR LGPL-3.0-only",
    "MIT OR",
    "(MIT",
    "MIT)",
    "mit",
  ])("is refused: %s", (expression) => {
    expect(isAllowedLicence(expression)).toBe(false);
  });
});
