import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Plugin } from "vite";
import { compileCatalogue } from "../src/console/web/i18n/compile-catalogue.ts";
import { LANGUAGES } from "../src/console/web/i18n/languages.ts";
import { SENTENCE_PREFIX } from "../src/console/web/i18n/translator.ts";

type Messages = Readonly<Record<string, string>>;

const IMPORTED = /(?:from|import\()\s*"(\.[^"]+\.tsx?)"/g;
/** Its dynamic imports are the further pages, which wait for the whole catalogue. */
const ROUTER = "router.tsx";

/** Files that the first page, the frame and the log-in page are made of, by `read`, which gets paths below the console. */
export function firstPageFiles(read: (path: string) => string | null): Map<string, string> {
  const found = new Map<string, string>();
  const waiting = ["main.tsx"];
  for (let path = waiting.pop(); path; path = waiting.pop()) {
    const text = found.has(path) ? null : read(path);
    if (text === null) continue;
    found.set(path, text);
    for (const [statement, to = ""] of text.matchAll(IMPORTED)) {
      if (path !== ROUTER || !statement.startsWith("import(")) waiting.push(join(dirname(path), to));
    }
  }
  return found;
}

/**
 * Keys of `all` that a source text uses: as a literal, by `name("family", …)` or by a template literal. Of the family
 * `field`, which names every field of the API, those whose name the file holds.
 */
export function keysUsedIn(text: string, all: readonly string[]): string[] {
  const literals = new Set([...text.matchAll(/"([^"\n]*)"/g)].map(([, literal = ""]) => literal));
  const prefixes = [...text.matchAll(/\bname\(\s*"([\w.-]+)"|`([\w.-]+)\$\{/g)].map(([, family, prefix]) =>
    family ? `${family}.` : (prefix ?? ""),
  );
  const named = prefixes.filter((prefix) => prefix !== "" && prefix !== "field.");
  const namesFields = prefixes.includes("field.");
  return all.filter((key) => {
    if (literals.has(key) || named.some((prefix) => key.startsWith(prefix))) return true;
    return namesFields && key.startsWith("field.") && literals.has(key.slice("field.".length));
  });
}

/**
 * Gives the console its messages, compiled: `virtual:console-messages` (English of the first page within, all else loaded
 * on demand) and `virtual:inbox-messages` (the recipients' page, all languages).
 */
export function consoleMessages(web: string): Plugin {
  const sentences = resolve(web, "../../lib/sentences");
  const readMessages = (folder: string, language: string): Messages =>
    JSON.parse(readFileSync(join(folder, `${language}.json`), "utf8"));
  const catalogue = (language: string): Messages => ({
    ...readMessages(join(web, "i18n"), language),
    ...Object.fromEntries(
      Object.entries(readMessages(sentences, language)).map(([code, text]) => [`${SENTENCE_PREFIX}${code}`, text]),
    ),
  });
  const read = (path: string) => {
    const whole = resolve(web, path);
    return whole.startsWith(web) ? readFileSync(whole, "utf8") : null;
  };
  const picked = (messages: Messages, isWanted: (key: string) => boolean): Messages =>
    Object.fromEntries(Object.entries(messages).filter(([key]) => isWanted(key)));
  const first = (language: string): Messages => {
    const messages = catalogue(language);
    const all = Object.keys(messages);
    const used = new Set([...firstPageFiles(read).values()].flatMap((text) => keysUsedIn(text, all)));
    return picked(messages, (key) => used.has(key));
  };
  const compiled = (messages: Messages): string => JSON.stringify(compileCatalogue(messages));
  const loaders = (part: string, languages: readonly string[]): string => {
    const each = languages.map(
      (tag) => `${tag}: () => import("virtual:console-messages/${part}/${tag}").then((m) => m.default)`,
    );
    return `{ ${each.join(", ")} }`;
  };
  const modules: Readonly<Record<string, (language: string) => string>> = {
    "virtual:console-messages": () =>
      [
        `export const firstEnglish = ${compiled(first("en"))};`,
        `export const loadFirst = ${loaders(
          "first",
          LANGUAGES.filter((tag) => tag !== "en"),
        )};`,
        `export const loadAll = ${loaders("all", LANGUAGES)};`,
      ].join("\n"),
    "virtual:console-messages/first": (language) => `export default ${compiled(first(language))};`,
    "virtual:console-messages/all": (language) => `export default ${compiled(catalogue(language))};`,
    "virtual:inbox-messages": () => {
      const all = LANGUAGES.map((tag) => [tag, picked(catalogue(tag), (key) => key.startsWith("inbox."))]);
      return `export default ${JSON.stringify(Object.fromEntries(all))};`;
    },
  };
  return {
    name: "console-messages",
    resolveId: { filter: { id: /^virtual:(console|inbox)-messages(\/|$)/ }, handler: (id) => `\0${id}` },
    load: {
      filter: { id: /^\0virtual:(console|inbox)-messages/ },
      handler(id) {
        const [, name = "", language = ""] = /^\0(virtual:[\w-]+(?:\/\w+)?)(?:\/([\w-]+))?$/.exec(id) ?? [];
        return modules[name]?.(language) ?? null;
      },
    },
    /** In development, a changed catalogue is shown at once: what was compiled from it is thrown away, and pages reload. */
    hotUpdate({ file, timestamp }) {
      if (![resolve(web, "i18n"), sentences].includes(dirname(file)) || !file.endsWith(".json")) return;
      const { moduleGraph, hot } = this.environment;
      for (const [id, module] of moduleGraph.idToModuleMap) {
        if (/^\0virtual:(console|inbox)-messages/.test(id))
          moduleGraph.invalidateModule(module, new Set(), timestamp, true);
      }
      hot.send({ type: "full-reload" });
      return [];
    },
  };
}
