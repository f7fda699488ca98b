import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { firstPageFiles, keysUsedIn } from "../../.ci/console-messages.ts";
import { compileCatalogue } from "../../src/console/web/i18n/compile-catalogue.ts";
import { LANGUAGES } from "../../src/console/web/i18n/languages.ts";
import { MESSAGE_FAMILIES } from "../../src/console/web/i18n/message-keys.ts";
import { ROOT, readSourceTree, type SourceTree } from "./source-tree.ts";

const WEB = "src/console/web";
type Messages = Readonly<Record<string, string>>;
const catalogues = new Map<string, Messages>(
  readdirSync(join(ROOT, WEB, "i18n"))
    .filter((file) => file.endsWith(".json"))
    .map((file) => [
      file.slice(0, -".json".length),
      JSON.parse(sources("i18n", /\.json$/).get(`${WEB}/i18n/${file}`) ?? ""),
    ]),
);
const english: Messages = catalogues.get("en") ?? {};

function sources(folder: string, wanted: RegExp): SourceTree {
  return readSourceTree([join(WEB, folder)], (path) => wanted.test(path));
}

/** Faults of a catalogue beside the English one. */
function faultsOf(language: string, messages: Messages, against: Messages): string[] {
  const [given, wanted] = [compileCatalogue(messages), compileCatalogue(against)];
  const categories = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
  const missing = Object.keys(wanted).filter((key) => !(key in given));
  const unknown = Object.keys(given).filter((key) => !(key in wanted));
  return [
    ...missing.map((key) => `${key}: missing`),
    ...unknown.map((key) => `${key}: not in English`),
    ...Object.entries(given).flatMap(([key, message]) => {
      const parts = partsOf(message);
      const lacking = parts.isPlural ? categories.filter((category) => !parts.forms.has(category)) : [];
      const expected = [...partsOf(wanted[key] ?? message).placeholders].sort().join();
      const found = [...parts.placeholders].sort().join();
      return [
        ...lacking.map((category) => `${key}: no form "${category}"`),
        ...(found === expected ? [] : [`${key}: placeholders ${found} instead of ${expected}`]),
      ];
    }),
  ];
}

/** Placeholders and plural categories of a compiled message. */
function partsOf(message: unknown): { placeholders: Set<string>; isPlural: boolean; forms: Set<string> } {
  const parts = { placeholders: new Set<string>(), isPlural: false, forms: new Set<string>() };
  const visit = (tokens: unknown) => {
    for (const token of Array.isArray(tokens) ? tokens : []) {
      if (!Array.isArray(token)) continue;
      const [name, type, forms] = token as [string, string | undefined, Record<string, unknown> | undefined];
      parts.placeholders.add(name);
      if (type !== "plural") continue;
      parts.isPlural = true;
      for (const [category, form] of Object.entries(forms ?? {})) {
        parts.forms.add(category);
        visit(form);
      }
    }
  };
  visit(message);
  return parts;
}

/** Keys that no source names, neither as a literal nor by a family or a template literal. */
function unusedKeys(tree: SourceTree, messages: Messages): string[] {
  const all = Object.keys(messages);
  const text = [...tree.values()].join("\n");
  const inbox = [...tree].filter(([path]) => /\/(inbox|desktop)\//.test(path)).map(([, each]) => each);
  const used = new Set(keysUsedIn(text, all));
  const isUsed = (key: string) =>
    used.has(key) ||
    MESSAGE_FAMILIES.some((family) => key.startsWith(`${family}.`)) ||
    inbox.some((each) => key.startsWith("inbox.") && each.includes(`"${key.slice("inbox.".length)}"`));
  return all.filter((key) => !isUsed(key));
}

describe("the console's messages", () => {
  it("exist in every supported language", () => {
    expect([...catalogues.keys()].sort()).toEqual([...LANGUAGES].sort());
    expect(Object.keys(english).length).toBeGreaterThan(2_000);
  });

  it.each([...catalogues])("have all keys, plural forms and placeholders: %s", (language, messages) => {
    expect(faultsOf(language, messages, english)).toEqual([]);
  });

  it("would be refused in a language that lacks a key, a plural form or a placeholder", () => {
    const against = { a: "A {name}", b: "{count, plural, one {# ring} other {# rings}}", c: "C" };
    const polish = { a: "A", b: "{count, plural, one {x} few {x} other {x}}", d: "D" };
    expect(faultsOf("pl", polish, against)).toEqual([
      "c: missing",
      "d: not in English",
      "a: placeholders  instead of name",
      'b: no form "many"',
    ]);
  });

  it("are all used", () => {
    expect(unusedKeys(sources("", /\.tsx?$/), english)).toEqual([]);
    const source = `t("a") name("f", x) t(\`g.\${x}\`)`;
    expect(unusedKeys(new Map([["a.tsx", source]]), { a: "", b: "", "f.x": "", "g.y": "" })).toEqual(["b"]);
  });

  it("name every family that a source looks up", () => {
    const looked = [...sources("", /\.tsx?$/).values()].flatMap((text) =>
      [...text.matchAll(/\bname\(\s*"([\w.-]+)"/g)].map(([, family]) => family),
    );
    expect([...new Set(looked)].filter((family) => !MESSAGE_FAMILIES.some((each) => each === family))).toEqual([]);
    const empty = MESSAGE_FAMILIES.filter(
      (family) => !Object.keys(english).some((key) => key.startsWith(`${family}.`)),
    );
    expect(empty).toEqual([]);
  });

  it("are in the bundle of the first page that uses them", () => {
    const tree = sources("", /\.tsx?$/);
    const files = firstPageFiles((path) => tree.get(`${WEB}/${path}`) ?? null);
    expect(files.size).toBeGreaterThan(20);
    expect([...files.keys()]).toEqual(
      expect.arrayContaining(["features/dashboard/dashboard-page.tsx", "features/account/log-in-page.tsx"]),
    );
    expect(files.has("features/bells/bells-page.tsx")).toBe(false);
    const used = keysUsedIn('t("templates.add") name("health", x) name("field", "email")', Object.keys(english));
    expect(used).toEqual(expect.arrayContaining(["templates.add", "health.RED", "field.email"]));
    expect(used).not.toContain("field.name");
  });
});
