import { readFileSync, statSync } from "node:fs";
import { compileMessageOrThrow } from "@lingui/message-utils/compileMessage";
import type { SentenceMessages } from "../lib/sentences/catalogue.ts";
import type { PluginSentences } from "../lib/sentences/registry.ts";
import { templatesOf } from "../lib/sentences/template.ts";

/** Languages that the core shows; English is what a plugin writes. */
const LANGUAGES = ["en", "de"] as const;
const MAX_BYTES = 262_144;
const MAX_MESSAGES = 500;
const CODE = /^[a-z0-9-]+(\.[a-z0-9-]+)*$/;
/** A message with fewer letters would be found in any text. */
const MIN_LETTERS = 3;

/** The sentences of a plugin, null without any, and why its files cannot be used. */
export interface PluginSentencesResult {
  sentences: PluginSentences | null;
  errors: string[];
}

/**
 * Reads `sentences/<language>.json` of a plugin's folder. Messages are not compiled here: that takes too long for a start.
 * @source docs/decisions/0472-sentences-of-plugins.md
 */
export function readPluginSentences(folder: URL): PluginSentencesResult {
  const errors: string[] = [];
  const found = LANGUAGES.flatMap((language) => {
    const file = new URL(`sentences/${language}.json`, folder);
    const messages = readMessages(file);
    if (typeof messages === "string") errors.push(`sentences/${language}.json ${messages}.`);
    return typeof messages === "object" && messages !== null ? [[language, messages] as const] : [];
  });
  if (found.length > 0 && found[0]?.[0] !== "en" && errors.length === 0) errors.push("sentences/en.json is missing.");
  const usable = errors.length === 0 && found.length > 0;
  return { sentences: usable ? (Object.fromEntries(found) as unknown as PluginSentences) : null, errors };
}

/** What is wrong with messages and translations, as sentences; for the check of a plugin before it is installed. */
export function sentenceErrors(sentences: PluginSentences): string[] {
  return Object.entries(sentences).flatMap(([language, messages]) =>
    Object.entries(messages).flatMap(([code, message]) => {
      const problem = messageProblem(message, sentences.en[code]);
      return problem === null ? [] : [`sentences/${language}.json: ${code} ${problem}.`];
    }),
  );
}

/** The messages of a file; null without the file, a predicate phrase if it is not valid. */
function readMessages(file: URL): SentenceMessages | string | null {
  try {
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MAX_BYTES)
      return `must have at most ${MAX_BYTES} bytes`;
    const read = JSON.parse(readFileSync(file, "utf8")) as unknown;
    if (typeof read !== "object" || read === null || Array.isArray(read)) return "must be a JSON object";
    const entries = Object.entries(read);
    if (entries.length > MAX_MESSAGES) return `must have at most ${MAX_MESSAGES} messages`;
    const wrong = entries.find(([code, message]) => !CODE.test(code) || typeof message !== "string");
    return wrong
      ? `must map codes such as gate.jammed to messages, not ${wrong[0].slice(0, 60)}`
      : (read as SentenceMessages);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? null : "must be a readable JSON file";
  }
}

function messageProblem(message: string, english: string | undefined): string | null {
  if (english === undefined) return "is not in sentences/en.json";
  try {
    const [names, known] = [namesIn(message), namesIn(english)];
    const stranger = [...names.values].find((name) => !known.values.has(name));
    if (stranger !== undefined) return `has the placeholder ${stranger}, which the English message lacks`;
    if (/\}\s*\{/.test(message.replaceAll(/\{\w+, plural,.*\}/gs, "")) && message === english)
      return "must have words between its placeholders";
    return names.letters < MIN_LETTERS ? `must have at least ${MIN_LETTERS} letters besides its placeholders` : null;
  } catch {
    return "is not a valid ICU message";
  }
}

function namesIn(message: string): { values: Set<string>; letters: number } {
  const forms = templatesOf(message, compileMessageOrThrow);
  const parts = forms.flat();
  const letters = forms.map((form) =>
    form.reduce((sum, part) => sum + (typeof part === "string" ? (part.match(/\p{L}/gu)?.length ?? 0) : 0), 0),
  );
  return {
    values: new Set(parts.flatMap((part) => (typeof part === "string" ? [] : [part.name]))),
    letters: Math.min(...letters),
  };
}
