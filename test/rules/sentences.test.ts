import { existsSync, readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import de from "../../src/lib/sentences/de.json" with { type: "json" };
import en from "../../src/lib/sentences/en.json" with { type: "json" };
import { sentenceErrors } from "../../src/plugin-host/plugin-sentences.ts";
import { placeholdersOf } from "../support/sentences.ts";
import { readSourceTree, type SourceTree } from "./source-tree.ts";

type Messages = Readonly<Record<string, string>>;
const english: Messages = en;
const german: Messages = de;
const tree = readSourceTree(["src"], (path) => /\.tsx?$/.test(path) && !path.startsWith("src/console/web/"));
const pluginFiles = readSourceTree(["plugins"], (path) => /\.ts$|\/sentences\/\w+\.json$/.test(path));

/** Sources and catalogues of the built-in plugins that have sentences, by name. */
const pluginsWithSentences = [...pluginFiles].flatMap(([path, text]) => {
  const [, name] = /^plugins\/([^/]+)\/sentences\/en\.json$/.exec(path) ?? [];
  if (name === undefined) return [];
  const sources = new Map(
    [...pluginFiles].filter(([each]) => each.startsWith(`plugins/${name}/`) && each.endsWith(".ts")),
  );
  const translated = pluginFiles.get(`plugins/${name}/sentences/de.json`) ?? "{}";
  return [{ name, sources, english: JSON.parse(text) as Messages, german: JSON.parse(translated) as Messages }];
});

/** Messages of libraries and of modules that cannot load the catalogue, which are read from the texts of their errors. */
const LIBRARY = "library.";
/** What fields of a plugin's configuration are called; the core finds them by the name of the field. */
const LABEL = "label.";

/** Codes of a catalogue that no source names as a literal. */
function unusedCodes(messages: Messages, sources: SourceTree): string[] {
  const named = new Set(
    [...sources.values()].flatMap((text) => [...text.matchAll(/"([\w.-]+)"/g)].map(([, code]) => code)),
  );
  return Object.keys(messages).filter(
    (code) => !named.has(code) && !code.startsWith(LIBRARY) && !code.startsWith(LABEL),
  );
}

/** Differences of a translation from the English catalogue, and messages that cannot be read back. */
function faultsOf(translation: Messages, messages: Messages): string[] {
  const codes = new Set([...Object.keys(translation), ...Object.keys(messages)]);
  return [...codes].flatMap((code) => {
    const [original, translated] = [messages[code], translation[code]];
    if (original === undefined) return [`${code}: not in English`];
    if (translated === undefined) return [`${code}: missing`];
    const [wanted, given] = [placeholdersOf(original), placeholdersOf(translated)].map((all) =>
      all
        .map(({ name }) => name)
        .sort()
        .join(),
    );
    const counts = placeholdersOf(original).filter(({ isCount }) => isCount);
    return [
      ...(wanted === given ? [] : [`${code}: placeholders ${given} instead of ${wanted}`]),
      ...(counts.every(({ name }) => name === "count") ? [] : [`${code}: a plural form depends on count only`]),
      ...(/\}\{/.test(original) ? [`${code}: words must separate its placeholders`] : []),
    ];
  });
}

/** `sentence("code", { … })` with parameters that the message does not have, or without one that it has. */
function wrongParameters(messages: Messages, sources: SourceTree): string[] {
  return [...sources].flatMap(([path, text]) =>
    [...text.matchAll(/\bsentence(?:Sql)?\(\s*"([\w.-]+)"(?:,\s*\{([^{}]*)\}|(\s*\)))/g)].flatMap(
      ([, code = "", body = ""]) => {
        // What a spread contains is not in the call.
        if (body.includes("...") || messages[code] === undefined) return [];
        const given = [...body.matchAll(/(?:^|,)\s*(\w+)\s*(?=[:,]|$)/g)]
          .map(([, name]) => name)
          .sort()
          .join();
        const wanted = placeholdersOf(messages[code] ?? "")
          .map(({ name }) => name)
          .sort()
          .join();
        return given === wanted ? [] : [`${path}: ${code} has ${wanted || "none"}, not ${given || "none"}`];
      },
    ),
  );
}

const kebabCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

describe("the server's sentences", () => {
  it("exist in every language with the same placeholders", () => {
    expect(faultsOf(german, english)).toEqual([]);
    expect(Object.keys(english)).toEqual(Object.keys(english).toSorted());
    expect(Object.keys(german)).toEqual(Object.keys(english));
  });

  it("are all used", () => {
    expect(unusedCodes(english, tree)).toEqual([]);
  });

  it("get the parameters that they have", () => {
    expect(wrongParameters(english, tree)).toEqual([]);
  });

  it.each(pluginsWithSentences)("of the plugin $name are translated, used and get their parameters", (plugin) => {
    expect(faultsOf(plugin.german, plugin.english)).toEqual([]);
    expect(unusedCodes(plugin.english, plugin.sources)).toEqual([]);
    expect(wrongParameters(plugin.english, plugin.sources)).toEqual([]);
    expect(sentenceErrors({ en: plugin.english, de: plugin.german })).toEqual([]);
  });

  it.each(readdirSync("plugins").filter((name) => existsSync(`plugins/${name}/config.ts`)))(
    "name every field of the configuration of %s",
    async (name) => {
      const { default: config } = (await import(`../../plugins/${name}/config.ts`)) as { default: object };
      const fields = Object.keys(config).map((field) => `${LABEL}${kebabCase(field)}`);
      const labels = Object.keys(pluginsWithSentences.find((plugin) => plugin.name === name)?.english ?? {});
      expect(labels.filter((code) => code.startsWith(LABEL))).toEqual(fields.toSorted());
    },
  );

  it("would be refused without a translation, a use or a parameter", () => {
    const messages = { a: "A {x} {y}", b: "B", c: "{n, plural, one {# c} other {# cs}}", d: "{x}{y}" };
    expect(faultsOf({ a: "A {x}", c: messages.c, d: messages.d, e: "E" }, messages)).toEqual([
      "a: placeholders x instead of x,y",
      "c: a plural form depends on count only",
      "d: words must separate its placeholders",
      "e: not in English",
      "b: missing",
    ]);
    expect(unusedCodes({ a: "", b: "" }, new Map([["x.ts", 'sentence("a")']]))).toEqual(["b"]);
    const source = 'sentence("a", { x: 1 }); sentence("b"); sentence("a", { x, y: f(x, y) }); sentence("b", { x })';
    expect(wrongParameters(messages, new Map([["x.ts", source]]))).toEqual([
      "x.ts: a has x,y, not x",
      "x.ts: b has none, not x",
    ]);
  });
});
