import { readdirSync, readFileSync } from "node:fs";
import { compileMessageOrThrow } from "@lingui/message-utils/compileMessage";
import { type Template, templatesOf } from "../../src/lib/sentences/template.ts";

type Messages = Readonly<Record<string, string>>;

/** An English text of a catalogue. */
interface EnglishText {
  key: string;
  /** Longest words between placeholders. */
  longest: string;
  pattern: RegExp;
}

/** Shorter texts may be names or words that German has, too. */
const MIN_WORDS = 3;

/** The catalogues of console, server and plugins, English beside German. */
function catalogues(): { name: string; en: Messages; de: Messages }[] {
  const folders = [
    "src/console/web/i18n",
    "src/lib/sentences",
    ...readdirSync("plugins").map((plugin) => `plugins/${plugin}/sentences`),
  ];
  return folders.flatMap((folder) => {
    try {
      const [en, de] = ["en", "de"].map((tag) => JSON.parse(readFileSync(`${folder}/${tag}.json`, "utf8")) as Messages);
      return en && de ? [{ name: folder, en, de }] : [];
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
      throw error;
    }
  });
}

function textOf(key: string, template: Template): EnglishText[] {
  const pieces = template.filter((part) => typeof part === "string").map((part) => part.trim().replace(/\s+/g, " "));
  const words = pieces.flatMap((piece) => piece.match(/\p{L}[\p{L}'’-]+/gu) ?? []);
  if (words.length < MIN_WORDS) return [];
  const longest = pieces.toSorted((a, b) => b.length - a.length)[0] ?? "";
  const escaped = pieces.filter(Boolean).map((piece) => piece.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])${escaped.join("[^\\n]{0,300}?")}(?![\\p{L}])`, "u");
  return [{ key, longest, pattern }];
}

/**
 * Finds English texts of the catalogues in the lines of a page. Texts that are the same in German are not searched for;
 * `known` are texts that people entered.
 */
export function createEnglishFinder(known: readonly string[] = []): (lines: readonly string[]) => string[] {
  const texts = catalogues().flatMap(({ name, en, de }) =>
    Object.entries(en).flatMap(([key, message]) => {
      if (de[key] === message) return [];
      return templatesOf(message, compileMessageOrThrow).flatMap((template) => textOf(`${name} ${key}`, template));
    }),
  );
  return (lines) => {
    const found: string[] = [];
    for (const line of new Set(lines.map((each) => each.trim().replace(/\s+/g, " ")))) {
      if (known.includes(line)) continue;
      const text = texts.find(({ longest, pattern }) => line.includes(longest) && pattern.test(line));
      if (text) found.push(`${text.key}: ${line}`);
    }
    return found;
  };
}

/** Frequent English words; German has few of them, such as `was` and `not`. */
const ENGLISH_WORDS = new Set(
  (
    "the of is are was were and not with without for from this that these which must cannot does it its or by to be been has have " +
    "had when while after before only other no such than their they who will would may should each every if at as on into"
  ).split(" "),
);
/** So few that names and single words of programs are no sentence. */
const MIN_ENGLISH_WORDS = 3;
/** Share of the words of a line: a German sentence may quote an English one. */
const MIN_ENGLISH_SHARE = 0.25;

/** Lines that are English by their frequent words, whatever catalogue they come from; `known` are texts that people entered. */
export function findEnglishLines(lines: readonly string[], known: readonly string[] = []): string[] {
  return [...new Set(lines.map((each) => each.trim().replace(/\s+/g, " ")))].filter((line) => {
    if (known.includes(line)) return false;
    const words = line.match(/(?<![\p{L}\p{N}_./-])\p{L}[\p{L}'’]*(?![\p{L}\p{N}_/-])/gu) ?? [];
    const english = words.filter((word) => ENGLISH_WORDS.has(word === "Not" ? "" : word.toLowerCase()));
    return new Set(english).size >= MIN_ENGLISH_WORDS && english.length >= words.length * MIN_ENGLISH_SHARE;
  });
}
