import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { en } from "../../src/console/web/i18n/en.ts";
import { firstEn } from "../../src/console/web/i18n/first-en.ts";
import { readTree, type SourceTree } from "./source-tree.ts";

const WEB = "src/console/web";
const IMPORTED = /(?:from|import\()\s*"(\.[^"]+\.tsx?)"/g;
/** What pages are loaded by; what it loads later comes with all words. */
const ROUTER = `${WEB}/router.tsx`;
const isCatalogue = (path: string): boolean => /\/i18n\/(.*-)?(en|de)\.ts$/.test(path);

/** Files that the first page, the frame and the door are made of. */
function filesOfTheFirstPage(tree: SourceTree): Set<string> {
  const found = new Set<string>();
  const waiting = [`${WEB}/main.tsx`];
  for (let path = waiting.pop(); path; path = waiting.pop()) {
    const text = tree.get(path);
    if (text === undefined || found.has(path) || isCatalogue(path)) continue;
    found.add(path);
    for (const [statement, to = ""] of text.matchAll(IMPORTED)) {
      if (path !== ROUTER || !statement.startsWith("import(")) waiting.push(join(dirname(path), to));
    }
  }
  return found;
}

/** Keys of the catalogue that a file names, and those of the families that it names; labels of fields are for forms. */
function keysIn(text: string): string[] {
  const all = Object.keys(en);
  const literal = [...text.matchAll(/"([^"\n]+)"/g)].map(([, key = ""]) => key);
  const families = [...text.matchAll(/\bname\("([\w-]+)"|`([\w.-]+)\$\{/g)].map(([, a, b]) =>
    a ? `${a}.` : (b ?? ""),
  );
  return all.filter(
    (key) =>
      (literal.includes(key) && !key.startsWith("field.")) ||
      families.some((family) => family !== "field." && family !== "" && key.startsWith(family)),
  );
}

describe("the words of the console's first page", () => {
  it("are all among those that it is loaded with", () => {
    const tree = readTree([WEB], (path) => /\.tsx?$/.test(path));
    const files = filesOfTheFirstPage(tree);
    expect(files.size).toBeGreaterThan(20);
    const missing = [...files].flatMap((path) =>
      keysIn(tree.get(path) ?? "")
        .filter((key) => !(key in firstEn))
        .map((key) => `${path}: ${key}`),
    );
    expect(missing).toEqual([]);
  });

  it("are found by their keys and by their families", () => {
    expect(keysIn('t("templates.add") name("health", x) name("field", y)')).toEqual(
      expect.arrayContaining(["templates.add", "health.RED"]),
    );
  });
});
