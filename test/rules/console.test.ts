import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROUTES } from "../../src/console/web/api/routes.ts";
import { actionsFor } from "../../src/http/actions/index.ts";
import { createCatalogue, methodsOf } from "../../src/schema/catalogue.ts";
import type { AnyResource } from "../../src/schema/resource.ts";
import { type DeclarationModules, declarationsOf } from "./declarations.ts";
import { untranslatedTexts } from "./source-style.ts";
import { fixtureTree, ROOT, readSourceTree } from "./source-tree.ts";

const paths = [...readSourceTree(["src/resources"], (path) => path.endsWith(".ts")).keys()];
const modules: DeclarationModules = new Map(
  await Promise.all(paths.map(async (path) => [path, await import(join(ROOT, path))] as const)),
);
const catalogue = createCatalogue(declarationsOf(modules).map(({ resource }) => resource));

/** `get notifications/{}` for every method and path that the API serves; names in braces don't matter. */
const served = new Set([
  ...catalogue.all.flatMap((resource) =>
    resource.paths.flatMap((path) =>
      methodsOf(path).flatMap((method) => [
        ...(method === "get" || method === "post" ? [`${method} ${bare(path.at)}`] : []),
        ...(method === "post" ? [] : [`${method} ${bare(path.at)}/{}`]),
        ...(method === "get" ? filesOf(resource).map((name) => `get ${bare(path.at)}/{}/${name}`) : []),
      ]),
    ),
  ),
  ...actionsFor(catalogue).map(({ method, at }) => `${method} ${bare(at)}`),
]);

/** Fields whose bytes are a path of their own. */
function filesOf({ fields }: AnyResource): string[] {
  return Object.entries(fields).flatMap(([name, { kind }]) => (kind === "file" ? [name] : []));
}

function bare(path: string): string {
  return path.replace(/\{\w+\}/g, "{}");
}

function unserved(routes: Readonly<Record<string, { methods: readonly string[] }>>): string[] {
  return Object.entries(routes).flatMap(([route, { methods }]) =>
    methods.map((method) => `${method} ${bare(route)}`).filter((call) => !served.has(call)),
  );
}

describe("the console", () => {
  it("calls only routes of the API", () => {
    expect(unserved(ROUTES)).toEqual([]);
    expect(unserved({ "notifications/{id}": { methods: ["get", "put"] }, secrets: { methods: ["get"] } })).toEqual([
      "put notifications/{}",
      "get secrets",
    ]);
  });

  it("reads again what a route's resource says", () => {
    // None has rows; the live feed tells of the link and of the next rings by their names.
    const withoutRows = ["session", "link", "bell-rings"];
    const unknown = Object.values(ROUTES).filter(
      ({ resource }) => !withoutRows.includes(resource) && !catalogue.has(resource),
    );
    expect(unknown).toEqual([]);
  });

  it("reaches the API through its client alone", () => {
    const tree = readSourceTree(
      ["src/console/web"],
      (path) => /\.tsx?$/.test(path) && !/api\/(client|routes)\.ts$/.test(path),
    );
    const direct = [...tree].filter(([, text]) => /["'`]\/?api\/(?!live\b)/.test(text)).map(([path]) => path);
    expect(tree.size).toBeGreaterThan(0);
    expect(direct).toEqual([]);
  });

  it("takes its texts from the catalogue", () => {
    const tree = readSourceTree(["src/console/web"], (path) => path.endsWith(".tsx"));
    expect(tree.size).toBeGreaterThan(0);
    expect(untranslatedTexts(tree)).toEqual([]);
  });

  it.each([
    ["between tags", "<p>Hello</p>"],
    ["in braces", '<p>{"Hello"}</p>'],
    ["in what is read aloud", '<input aria-label="Hello" />'],
    ["in a label in braces", '<input label={"Hello"} />'],
  ])("would be refused words %s", (_case, markup) => {
    const tree = fixtureTree({ "src/console/web/a.tsx": `const x = ${markup};` });
    expect(untranslatedTexts(tree)).toEqual([expect.stringContaining("Hello")]);
  });

  it("may use technical terms and symbols", () => {
    const markup = '<p className="soft">{t("hello")} · <input type="text" aria-label={t("name")} />–</p>';
    expect(untranslatedTexts(fixtureTree({ "src/console/web/a.tsx": `const x = ${markup};` }))).toEqual([]);
  });
});
