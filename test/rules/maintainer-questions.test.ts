import { existsSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { fixtureTree, ROOT, readSourceTree, type SourceTree } from "./source-tree.ts";

const product = readSourceTree(["src"], (path) => /\.tsx?$/.test(path));

interface Answer {
  question: string;
  word: string;
  files: string[];
}

/** The table of docs/development.md: question, word to search for, files. */
function answersOf(markdown: string): Answer[] {
  return [...markdown.matchAll(/^\| (.+?\?) \| `([^`]+)` \| (.+) \|$/gm)].map(
    ([, question = "", word = "", open = ""]) => ({
      question,
      word,
      files: [...open.matchAll(/`(src\/[^`]+)`/g)].map(([, file = ""]) => file),
    }),
  );
}

/** Files in the order in which a reader opens them: by name, then by the first comment, each with most hits first. */
function filesFor(word: string, tree: SourceTree): string[] {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const inText = new RegExp(`\\b${escaped}`, "gi");
  const inName = new RegExp(`\\b${escaped.replaceAll(" ", "-")}`, "i");
  return [...tree]
    .map(([path, text]) => {
      const comment = (/\/\*\*[\s\S]*?\*\//.exec(text)?.[0] ?? "").replace(/\s*\n\s*\*\s*/g, " ");
      const rank = inName.test(basename(path)) ? 0 : comment.search(inText) >= 0 ? 1 : 2;
      return { path, rank, hits: text.match(inText)?.length ?? 0 };
    })
    .filter(({ rank }) => rank < 2)
    .sort((one, other) => one.rank - other.rank || other.hits - one.hits || (one.path < other.path ? -1 : 1))
    .map(({ path }) => path);
}

describe("questions of maintainers", () => {
  const answers = answersOf(readFileSync(join(ROOT, "docs/development.md"), "utf8"));

  it("are fifteen", () => {
    expect(answers).toHaveLength(15);
  });

  it.each(answers)("$question is answered by a search for $word", ({ word, files }) => {
    const [file] = files;
    expect(filesFor(word, product).slice(0, 2)).toContain(file);
  });

  it.each(answers)("$question names files that exist", ({ files }) => {
    expect(files.filter((file) => !existsSync(join(ROOT, file)))).toEqual([]);
  });

  it("finds names before comments, and many hits before few", () => {
    const tree = fixtureTree({
      "src/a/few.ts": "/** A crash. */",
      "src/a/many.ts": "/**\n * What a\n * crash does: crash after crash.\n */",
      "src/a/crash-report.ts": "",
      "src/a/later.ts": "/** Nothing. */ // crash crash crash crash",
    });
    expect(filesFor("crash", tree)).toEqual(["src/a/crash-report.ts", "src/a/many.ts", "src/a/few.ts"]);
    expect(filesFor("a crash", tree)).toEqual(["src/a/few.ts", "src/a/many.ts"]);
  });
});
