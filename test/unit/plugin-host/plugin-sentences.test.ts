import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readPluginSentences, sentenceErrors } from "../../../src/plugin-host/plugin-sentences.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sentences-"));
  mkdirSync(join(folder, "sentences"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function read(files: Readonly<Record<string, string | object>>) {
  for (const [language, content] of Object.entries(files))
    writeFileSync(
      join(folder, "sentences", `${language}.json`),
      typeof content === "string" ? content : JSON.stringify(content),
    );
  return readPluginSentences(pathToFileURL(`${folder}/`));
}

describe("the sentences of a plugin", () => {
  it("are read by language; a plugin without any writes plain text", () => {
    expect(read({})).toEqual({ sentences: null, errors: [] });
    expect(read({ en: { a: "one" }, de: { a: "eins" } })).toEqual({
      sentences: { en: { a: "one" }, de: { a: "eins" } },
      errors: [],
    });
  });

  it.each<[string, Record<string, string | object>, string]>([
    ["no JSON", { en: "{" }, "sentences/en.json must be a readable JSON file."],
    ["a list", { en: "[]" }, "sentences/en.json must be a JSON object."],
    ["a number", { en: { a: 1 } }, "sentences/en.json must map codes such as gate.jammed to messages, not a."],
    [
      "a code with spaces",
      { en: { "a b": "x" } },
      "sentences/en.json must map codes such as gate.jammed to messages, not a b.",
    ],
    [
      "too many",
      { en: Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`a${at}`, "x"])) },
      "sentences/en.json must have at most 500 messages.",
    ],
    ["too large", { en: { a: "x".repeat(300_000) } }, "sentences/en.json must have at most 262144 bytes."],
    ["German alone", { de: { a: "eins" } }, "sentences/en.json is missing."],
  ])("are refused: %s", (_what, files, error) => {
    expect(read(files)).toEqual({ sentences: null, errors: [error] });
  });

  it("are checked before a plugin is installed", () => {
    const en = { good: "the gate {name} jams", open: "not {closed", words: "{a}: {b}", other: "gate {name}" };
    const de = { good: "das Tor {name} klemmt", other: "Tor {nummer}", stray: "fremd" };
    expect(sentenceErrors({ en, de })).toEqual([
      "sentences/en.json: open is not a valid ICU message.",
      "sentences/en.json: words must have at least 3 letters besides its placeholders.",
      "sentences/de.json: other has the placeholder nummer, which the English message lacks.",
      "sentences/de.json: stray is not in sentences/en.json.",
    ]);
  });
});
