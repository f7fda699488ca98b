import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createCatalogue } from "../../src/schema/catalogue.ts";
import { defineResource } from "../../src/schema/resource.ts";
import { type DeclarationModules, declarationsOf, declarationViolations } from "./declarations.ts";
import { ROOT, readSourceTree } from "./source-tree.ts";

const paths = [...readSourceTree(["src/resources"], (path) => path.endsWith(".ts")).keys()];
const modules: DeclarationModules = new Map(
  await Promise.all(paths.map(async (path) => [path, await import(join(ROOT, path))] as const)),
);

const sample = defineResource({
  name: "bells",
  doc: "A bell.",
  paths: [{ at: "bells" }],
  idParam: "bellId",
  scope: "organisation",
  replicate: "B",
  fields: { towerIds: { kind: "many", doc: "Towers.", to: "towers", maxItems: 5 } },
});

/** The references to families that nobody has declared. */
function undeclared(all: DeclarationModules): readonly string[] {
  return createCatalogue(declarationsOf(all).map(({ resource }) => resource)).undeclaredReferences;
}

describe("declarations", () => {
  it("have one file of their name each and state how they are replicated", () => {
    expect(declarationViolations(modules)).toEqual([]);
  });

  it("would be refused without a class, under another name, and when not exported by default", () => {
    const { replicate: _, ...unclassed } = sample;
    const planted: DeclarationModules = new Map([
      ["src/resources/a/bells.ts", { default: sample }],
      ["src/resources/b/bells.ts", { default: unclassed }],
      ["src/resources/c/chimes.ts", { default: sample }],
      ["src/resources/d/bells.ts", { default: { ...sample, replicate: "F" } }],
      ["src/resources/e/bells.ts", { bells: sample }],
      ["src/resources/f/shared-fields.ts", { fields: { name: "no declaration" } }],
    ]);
    expect(declarationViolations(planted)).toEqual([
      "src/resources/b/bells.ts: has no replication class",
      "src/resources/c/chimes.ts: declares bells, not what it is called",
      "src/resources/d/bells.ts: has no replication class",
      "src/resources/e/bells.ts: bells is not the default export",
    ]);
  });

  it("list the references to families that are not declared yet", () => {
    expect(undeclared(new Map([["src/resources/a/bells.ts", { default: sample }]]))).toEqual([
      "bells.towerIds -> towers",
    ]);
    const open = undeclared(modules);
    if (open.length > 0) console.info(`References to families not yet declared:\n  ${open.join("\n  ")}`);
  });
});
