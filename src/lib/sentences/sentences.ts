import { setupI18n } from "@lingui/core";
import { compileMessageOrThrow } from "@lingui/message-utils/compileMessage";
import { BugError } from "../errors.ts";
import de from "./de.json" with { type: "json" };
import en from "./en.json" with { type: "json" };
import { type RenderSentence, renderReference, type SentenceReference } from "./reference.ts";
import { matchTemplate, type Template, templatesOf } from "./template.ts";

/** Code of a sentence: its key in the catalogues. */
export type SentenceCode = keyof typeof en;

/** Values of the placeholders of a sentence. A value that is itself a sentence is translated with it. */
export type SentenceParams = Readonly<Record<string, string | number>>;

declare const fromCatalogue: unique symbol;

/** An English sentence of the catalogue, or the words of a device or provider; a plain string is not one. */
export type Sentence = string & { readonly [fromCatalogue]: true };

/** A text with its code and parameters, which are null for words of a device, a provider or a person. */
export type SentenceOrWords = { text: string } & (SentenceReference | { code: null; params: null });

/** Languages of the catalogues. */
export type SentenceLanguage = "en" | "de";

const ENGLISH: Readonly<Record<string, string>> = en;
const CATALOGUES: Readonly<Record<SentenceLanguage, RenderSentence>> = {
  en: createCatalogue("en", ENGLISH),
  de: createCatalogue("de", de),
};
const READER = createReader(ENGLISH);

/** Sentences within sentences that are read. */
const MAX_DEPTH = 4;
/** Longer texts are no sentence of the catalogue. */
const MAX_LENGTH = 10_000;
/** Ends of sentences that are tried in a text. */
const MAX_ENDS = 40;

/**
 * The English sentence of a code. It is what is stored, logged and sent; code and parameters are read from it where it is
 * shown. @source docs/decisions/0467-sentences-by-code.md
 */
export function sentence(code: SentenceCode, params: SentenceParams = {}): Sentence {
  return CATALOGUES.en(code, params) as Sentence;
}

/** Words of a device, a provider or a person, which stay as they are in every language. */
export function asGiven(words: string): Sentence {
  return words as Sentence;
}

/**
 * SQL expression for the sentence of a code. Parameters are SQL expressions; where one is NULL, so is the sentence.
 */
export function sentenceSql(code: SentenceCode, params: Readonly<Record<string, string>> = {}): string {
  const [template, ...others] = templatesOf(ENGLISH[code] ?? "", compileMessageOrThrow);
  if (!template || others.length > 0) throw new BugError(`sentence ${code} has plural forms`, { code });
  return template
    .map((part) => (typeof part === "string" ? `'${part.replaceAll("'", "''")}'` : params[part.name]))
    .join(" || ");
}

/** Code and parameters of a sentence; null for other words. */
export function readSentence(text: string): SentenceReference | null {
  return readNested(text, 0);
}

/** Texts with their code and parameters, which are null for other words. */
export function readSentences(texts: readonly string[]): SentenceOrWords[] {
  return texts.map((text) => ({ text, ...(readSentence(text) ?? { code: null, params: null }) }));
}

/** The sentence in another language; other words stay as they are. */
export function translateSentence(text: string, language: SentenceLanguage): string {
  if (language === "en") return text;
  const read = readSentence(text);
  return read === null ? text : renderReference(read, CATALOGUES[language]);
}

function readNested(text: string, depth: number): SentenceReference | null {
  if (depth > MAX_DEPTH || text.length > MAX_LENGTH) return null;
  const found = READER(text);
  if (found === null) return null;
  const params = Object.entries(found.params).map(([name, value]) => [
    name,
    typeof value === "string" ? (readSequence(value, depth + 1) ?? value) : value,
  ]);
  return { code: found.code, params: Object.fromEntries(params) };
}

/** A text by the sentences in it, with what is between them; null without one. */
function readSequence(text: string, depth: number): (SentenceReference | string)[] | null {
  // A list first: a sentence that begins with a value would take all earlier ones for it.
  const list = readPartsOf(text, "; ", depth) ?? readPartsOf(text, ", ", depth);
  if (list !== null) return list;
  const whole = readNested(text, depth);
  return whole === null ? readSentencesIn(text, depth) : [whole];
}

/** Sentences that end with a full stop, one after the other. */
function readSentencesIn(text: string, depth: number): (SentenceReference | string)[] | null {
  const found: (SentenceReference | string)[] = [];
  let [start, tried] = [0, 0];
  while (start < text.length) {
    let read: SentenceReference | null = null;
    let end = text.indexOf(". ", start);
    for (; end !== -1 && read === null && tried < MAX_ENDS; tried++) {
      read = readNested(text.slice(start, end + 1), depth);
      if (read === null) end = text.indexOf(". ", end + 1);
    }
    if (read === null) {
      const rest = text.slice(start);
      found.push(readNested(rest, depth) ?? rest);
      break;
    }
    found.push(read, " ");
    start = end + 2;
  }
  return found.some((part) => typeof part !== "string") ? found : null;
}

/** Parts between separators, if each is a sentence. */
function readPartsOf(text: string, separator: string, depth: number): (SentenceReference | string)[] | null {
  const parts = text.split(separator, MAX_ENDS);
  if (parts.length === 1 || parts.join(separator) !== text) return null;
  const found = parts.map((part) => readNested(part, depth));
  if (found.includes(null)) return null;
  return found.flatMap((part, at) => (part === null ? [] : at === 0 ? [part] : [separator, part]));
}

/** Compiles a message when it is first used: all at once would take some 100 ms. */
function createCatalogue(locale: SentenceLanguage, messages: Readonly<Record<string, string>>): RenderSentence {
  const i18n = setupI18n({ locale, messages: { [locale]: {} } });
  const compiled = new Set<string>();
  return (code, params) => {
    const message = messages[code];
    if (message === undefined) throw new BugError(`no sentence ${code}`, { code });
    if (!compiled.has(code)) {
      compiled.add(code);
      i18n.load(locale, { [code]: compileMessageOrThrow(message) });
    }
    return i18n._(code, { ...params });
  };
}

/** Finds the sentence that a text was made from: the one with the most words of it. */
function createReader(messages: Readonly<Record<string, string>>) {
  const entries = Object.entries(messages).map(([code, message]) => ({
    code: code as SentenceCode,
    message,
    opening: /^[^{']*/.exec(message)?.[0] ?? "",
  }));
  const templates = new Map<string, Template[]>();
  const templatesFor = (code: string, message: string): Template[] => {
    const known = templates.get(code) ?? templatesOf(message, compileMessageOrThrow);
    templates.set(code, known);
    return known;
  };
  return (text: string): { code: SentenceCode; params: Record<string, string | number> } | null => {
    let best: { code: SentenceCode; params: Record<string, string | number>; words: number } | null = null;
    for (const { code, message, opening } of entries) {
      if (!text.startsWith(opening)) continue;
      for (const template of templatesFor(code, message)) {
        const found = matchTemplate(template, text);
        if (found && found.words > (best?.words ?? 0)) best = { code, ...found };
      }
    }
    return best && { code: best.code, params: best.params };
  };
}
