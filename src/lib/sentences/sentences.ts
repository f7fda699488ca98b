import { compileMessageOrThrow } from "@lingui/message-utils/compileMessage";
import { BugError } from "../errors.ts";
import { createSentenceFinder, createSentenceRenderer } from "./catalogue.ts";
import de from "./de.json" with { type: "json" };
import en from "./en.json" with { type: "json" };
import { readReference } from "./reading.ts";
import { type RenderSentence, renderReference, type SentenceReference } from "./reference.ts";
import { templatesOf } from "./template.ts";

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

/** Language of the catalogues that a person prefers, by BCP 47 tag; null without a preference among them. */
export function sentenceLanguage(tag: string | null): SentenceLanguage | null {
  const [language] = (tag ?? "").toLowerCase().split("-");
  return language === "en" || language === "de" ? language : null;
}

const ENGLISH: Readonly<Record<string, string>> = en;
const CATALOGUES: Readonly<Record<SentenceLanguage, RenderSentence>> = {
  en: createSentenceRenderer("en", ENGLISH),
  de: createSentenceRenderer("de", de),
};

/** The core's sentences. */
export const CORE_CATALOGUE = { find: createSentenceFinder(ENGLISH), render: CATALOGUES };

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
  return readReference(CORE_CATALOGUE.find, text);
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
