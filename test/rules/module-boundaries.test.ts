import { describe, expect, it } from "vitest";
import { importCycles, layerViolations, packageViolations, pluginBoundaryViolations } from "./module-boundaries.ts";
import { fixtureTree, readSourceTree } from "./source-tree.ts";

const product = readSourceTree(["src", "plugins"], (path) => /\.tsx?$|plugin\.json$/.test(path));

/** A planted file whose whole content is an import of `specifier`. */
function importing(path: string, specifier: string) {
  return fixtureTree({ [path]: `import "${specifier}";` });
}

describe("rooms", () => {
  it("import only rooms below them", () => {
    expect(product.size).toBeGreaterThan(0);
    expect(layerViolations(product)).toEqual([]);
  });

  it.each([
    ["a room above", "src/store/a.ts", "../rest/b.ts", "rest (rank 7) is not below store (rank 3)"],
    ["an equal room", "src/bells/a.ts", "../alarms/b.ts", "alarms (rank 6) is not below bells (rank 6)"],
    ["an unknown room", "src/rest/a.ts", "../cellar/b.ts", "room cellar has no rank"],
    ["from an unknown room", "src/cellar/a.ts", "../base/b.ts", "room cellar has no rank"],
    ["the process entry", "src/app/a.ts", "../main.ts", "main.ts (rank Infinity) is not below app (rank 8)"],
    ["from a file beside the rooms", "src/loose.ts", "./base/b.ts", "only main.ts stands beside the rooms"],
    ["the campus", "src/cli/a.ts", "../campus/b.ts", "nobody imports the campus"],
    ["the product from the campus", "src/campus/a.ts", "../audio/b.ts", "the campus imports base only"],
    ["tests", "src/rest/a.ts", "../../test/support/b.ts", "product code imports from outside src/"],
    ["plugins", "src/extensions/a.ts", "../../plugins/x/index.ts", "product code imports from outside src/"],
    ["the door by its alias", "src/extensions/a.ts", "#plugin-api", "inside src/ the door is imported by its relative"],
    ["from deep in a room", "src/rest/actions/a.ts", "../../app/b.ts", "app (rank 8) is not below rest (rank 7)"],
  ])("would be refused %s", (_case, path, specifier, fault) => {
    expect(layerViolations(importing(path, specifier))).toEqual([expect.stringContaining(fault)]);
  });

  it.each([
    ["static", `import { x } from "../rest/b.ts";`],
    ["type-only", `import type { X } from "../rest/b.ts";`],
    ["inline type", `import { type X } from "../rest/b.ts";`],
    ["re-export", `export { x } from "../rest/b.ts";`],
    ["star re-export", `export * from "../rest/b.ts";`],
    ["dynamic", `export const x = await import("../rest/b.ts");`],
    ["import type node", `export type X = import("../rest/b.ts").X;`],
  ])("are seen through a %s import", (_case, text) => {
    expect(layerViolations(fixtureTree({ "src/base/ok.ts": "", "src/store/a.ts": `\n${text}` }))).toEqual([
      "src/store/a.ts:2 imports ../rest/b.ts: rest (rank 7) is not below store (rank 3)",
    ]);
  });

  it.each([
    ["src/store/a.ts", "../schema/field.ts"],
    ["src/rest/actions/a.ts", "../b.ts"],
    ["src/main.ts", "./cli/a.ts"],
    ["src/campus/a.ts", "../base/clock.ts"],
    ["src/store/a.ts", "node:fs"],
  ])("may be used: %s imports %s", (path, specifier) => {
    expect(layerViolations(importing(path, specifier))).toEqual([]);
  });
});

describe("packages", () => {
  it("stay in the rooms that own them", () => {
    expect(packageViolations(product)).toEqual([]);
  });

  it.each([
    ["src/rest/a.ts", "better-sqlite3"],
    ["src/access/a.ts", "drizzle-orm/sqlite-core"],
    ["src/rest/a.ts", "zod"],
    ["src/app/a.ts", "koa"],
    ["src/app/a.ts", "@koa/router"],
    ["src/app/a.ts", "koa-body"],
    ["src/replication/a.ts", "pg"],
    ["plugins/x/index.ts", "zod"],
    ["src/console/feed.ts", "react"],
    ["src/app/a.ts", "@tanstack/react-query"],
  ])("would be refused: %s imports %s", (path, specifier) => {
    expect(packageViolations(importing(path, specifier))).toHaveLength(1);
  });

  it.each([
    ["src/store/a.ts", "drizzle-orm"],
    ["src/schema/a.ts", "zod"],
    ["plugins/x/config.ts", "zod"],
    ["src/rest/a.ts", "koa-body"],
    ["src/replication/hub/a.ts", "pg"],
    ["src/base/a.ts", "pino"],
    ["src/console/web/a.tsx", "@mantine/core"],
  ])("may be used: %s imports %s", (path, specifier) => {
    expect(packageViolations(importing(path, specifier))).toEqual([]);
  });
});

describe("plugins", () => {
  it("see Carillon only through the door", () => {
    expect(pluginBoundaryViolations(product)).toEqual([]);
  });

  it.each([
    ["the product", "../../src/lib/clock.ts"],
    ["another plugin", "../y/index.ts"],
    ["a package that plugin.json does not name", "left-pad"],
  ])("would be refused %s", (_case, specifier) => {
    expect(pluginBoundaryViolations(importing("plugins/x/index.ts", specifier))).toHaveLength(1);
  });

  it("may use the door, Node, their own files and the packages they name", () => {
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
  it("do not import one another in a circle", () => {
    expect(importCycles(product)).toEqual([]);
  });

  it("would be refused a circle of two, of three, and with itself", () => {
    const link = (name: string) => `import type { X } from "./${name}.ts";`;
    const tree = fixtureTree({
      "src/base/a.ts": link("b"),
      "src/base/b.ts": link("a"),
      "src/base/c.ts": `${link("a")} ${link("d")}`,
      "src/base/d.ts": link("e"),
      "src/base/e.ts": link("c"),
      "src/base/f.ts": link("f"),
      "src/base/g.ts": `${link("a")} ${link("missing")}`,
    });
    expect(importCycles(tree)).toEqual([
      "circle: src/base/a.ts -> src/base/b.ts",
      "circle: src/base/c.ts -> src/base/d.ts -> src/base/e.ts",
      "circle: src/base/f.ts",
    ]);
  });
});
