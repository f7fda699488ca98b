import { describe, expect, it } from "vitest";
import {
  importCycles,
  internalImports,
  layerViolations,
  packageViolations,
  pluginBoundaryViolations,
} from "./module-boundaries.ts";
import { fixtureTree, readSourceTree } from "./source-tree.ts";

const product = readSourceTree(["src", "plugins"], (path) => /\.tsx?$|plugin\.json$/.test(path));

/** A planted file whose whole content is an import of `specifier`. */
function importing(path: string, specifier: string) {
  return fixtureTree({ [path]: `import "${specifier}";` });
}

describe("modules", () => {
  it("import only modules of lower layers", () => {
    expect(product.size).toBeGreaterThan(0);
    expect(layerViolations(product)).toEqual([]);
  });

  it.each([
    ["a higher module", "src/store/a.ts", "../http/b.ts", "http (layer 11) is not below store (layer 3)"],
    ["a module of the same layer", "src/bells/a.ts", "../alarms/b.ts", "alarms (layer 8) is not below bells (layer 8)"],
    ["an unknown module", "src/http/a.ts", "../cellar/b.ts", "module cellar has no layer"],
    ["from an unknown module", "src/cellar/a.ts", "../lib/b.ts", "module cellar has no layer"],
    ["the process entry", "src/wiring/a.ts", "../main.ts", "main.ts (layer Infinity) is not below wiring (layer 12)"],
    ["from a file outside the modules", "src/loose.ts", "./lib/b.ts", "only main.ts may lie outside the modules"],
    ["the simulator", "src/cli/a.ts", "../tools/simulator/b.ts", "nothing may import the simulator"],
    [
      "the product from the simulator",
      "src/tools/simulator/a.ts",
      "../../media/b.ts",
      "the simulator may import lib only",
    ],
    ["tests", "src/http/a.ts", "../../test/support/b.ts", "product code must not import from outside src/"],
    ["plugins", "src/plugin-host/a.ts", "../../plugins/x/index.ts", "product code must not import from outside src/"],
    [
      "the plugin API by its alias",
      "src/plugin-host/a.ts",
      "#plugin-api",
      "the plugin API is imported by its relative",
    ],
    [
      "from a nested folder",
      "src/http/actions/a.ts",
      "../../wiring/b.ts",
      "wiring (layer 12) is not below http (layer 11)",
    ],
  ])("must not import %s", (_case, path, specifier, violation) => {
    expect(layerViolations(importing(path, specifier))).toEqual([expect.stringContaining(violation)]);
  });

  it.each([
    ["static", `import { x } from "../http/b.ts";`],
    ["type-only", `import type { X } from "../http/b.ts";`],
    ["inline type", `import { type X } from "../http/b.ts";`],
    ["re-export", `export { x } from "../http/b.ts";`],
    ["star re-export", `export * from "../http/b.ts";`],
    ["dynamic", `export const x = await import("../http/b.ts");`],
    ["import type node", `export type X = import("../http/b.ts").X;`],
  ])("are found through a %s import", (_case, text) => {
    expect(layerViolations(fixtureTree({ "src/lib/ok.ts": "", "src/store/a.ts": `\n${text}` }))).toEqual([
      "src/store/a.ts:2 imports ../http/b.ts: http (layer 11) is not below store (layer 3)",
    ]);
  });

  it.each([
    ["src/store/a.ts", "../schema/field.ts"],
    ["src/http/actions/a.ts", "../b.ts"],
    ["src/main.ts", "./cli/a.ts"],
    ["src/tools/simulator/a.ts", "../../lib/clock.ts"],
    ["src/store/a.ts", "node:fs"],
  ])("may be imported: %s imports %s", (path, specifier) => {
    expect(layerViolations(importing(path, specifier))).toEqual([]);
  });
});

describe("packages", () => {
  it("are imported by their owners only", () => {
    expect(packageViolations(product)).toEqual([]);
  });

  it.each([
    ["src/http/a.ts", "better-sqlite3"],
    ["src/auth/a.ts", "drizzle-orm/sqlite-core"],
    ["src/http/a.ts", "zod"],
    ["src/wiring/a.ts", "koa"],
    ["src/wiring/a.ts", "@koa/router"],
    ["src/wiring/a.ts", "koa-body"],
    ["src/http/body/multipart.ts", "koa-body"],
    ["src/http/actions/a.ts", "@fastify/busboy"],
    ["src/sync/a.ts", "pg"],
    ["plugins/x/index.ts", "zod"],
    ["src/console/feed.ts", "react"],
    ["src/wiring/a.ts", "@tanstack/react-query"],
  ])("must not: %s imports %s", (path, specifier) => {
    expect(packageViolations(importing(path, specifier))).toHaveLength(1);
  });

  it.each([
    ["src/store/a.ts", "drizzle-orm"],
    ["src/schema/a.ts", "zod"],
    ["plugins/x/config.ts", "zod"],
    ["src/http/body/body-parser.ts", "koa-body"],
    ["src/ha/a.ts", "pg"],
    ["src/lib/a.ts", "pino"],
    ["src/console/web/a.tsx", "@mantine/core"],
  ])("may be used: %s imports %s", (path, specifier) => {
    expect(packageViolations(importing(path, specifier))).toEqual([]);
  });
});

describe("internals of packages", () => {
  it("are imported nowhere", () => {
    expect(internalImports(product)).toEqual([]);
  });

  it.each([
    ["src/store/a.ts", "drizzle-orm/casing"],
    ["src/store/a.ts", "drizzle-orm/sql/sql"],
    ["src/store/a.ts", "drizzle-orm/sqlite-core/dialect"],
    ["plugins/x/index.ts", "koa-body/dist/esm/index.js"],
    ["src/http/a.ts", "@fastify/busboy/deps/dicer/lib/Dicer.js"],
  ])("must not: %s imports %s", (path, specifier) => {
    expect(internalImports(importing(path, specifier))).toEqual([expect.stringContaining("only")]);
  });

  it.each(["drizzle-orm", "drizzle-orm/sqlite-core", "koa-body", "pino"])("may be left alone: %s", (specifier) => {
    expect(internalImports(importing("src/store/a.ts", specifier))).toEqual([]);
  });
});

describe("plugins", () => {
  it("use Carillon only through the plugin API", () => {
    expect(pluginBoundaryViolations(product)).toEqual([]);
  });

  it.each([
    ["the product", "../../src/lib/clock.ts"],
    ["another plugin", "../y/index.ts"],
    ["a package that plugin.json does not name", "left-pad"],
  ])("must not import %s", (_case, specifier) => {
    expect(pluginBoundaryViolations(importing("plugins/x/index.ts", specifier))).toHaveLength(1);
  });

  it("may import the plugin API, Node, their own files and the packages they name", () => {
    const text = ["#plugin-api", "node:net", "./push.ts", "../y/agent.ts", "left-pad/deep"]
      .map((name) => `import "${name}";`)
      .join("\n");
    const tree = fixtureTree({
      "plugins/x/index.ts": text,
      "plugins/x/plugin.json": `{"packages":["left-pad"],"builtOn":["y"]}`,
    });
    expect(pluginBoundaryViolations(tree)).toEqual([]);
  });
});

describe("files", () => {
  it("have no import cycles", () => {
    expect(importCycles(product)).toEqual([]);
  });

  it("are reported in cycles of two, of three, and of one file", () => {
    const link = (name: string) => `import type { X } from "./${name}.ts";`;
    const tree = fixtureTree({
      "src/lib/a.ts": link("b"),
      "src/lib/b.ts": link("a"),
      "src/lib/c.ts": `${link("a")} ${link("d")}`,
      "src/lib/d.ts": link("e"),
      "src/lib/e.ts": link("c"),
      "src/lib/f.ts": link("f"),
      "src/lib/g.ts": `${link("a")} ${link("missing")}`,
    });
    expect(importCycles(tree)).toEqual([
      "cycle: src/lib/a.ts -> src/lib/b.ts",
      "cycle: src/lib/c.ts -> src/lib/d.ts -> src/lib/e.ts",
      "cycle: src/lib/f.ts",
    ]);
  });
});
