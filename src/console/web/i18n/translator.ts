import { type Messages as Compiled, setupI18n } from "@lingui/core";
import { renderReference, type SentenceReference } from "../../../lib/sentences/reference.ts";
import { type DateFormats, dateFormats } from "./format.ts";
import type { Language } from "./languages.ts";
import type { MessageFamily, MessageKey } from "./message-keys.ts";

/** Values of the `{name}` placeholders of a message; `count` also chooses the plural form. */
export type Values = Readonly<Record<string, string | number>>;

/** A catalogue, or a part of one, as `compileCatalogue` makes it. */
export type Messages = Readonly<Compiled>;

/** A sentence by code, as the API sends it. */
export interface SentenceOfApi {
  code: string | null;
  params: unknown;
  /** Of sentences of plugins, which the catalogue lacks, by language. */
  translations?: unknown;
}

/** Messages, names and dates in one language. */
export interface Translator {
  language: Language;
  t(key: MessageKey, values?: Values): string;
  /** The text for a value that the API names, such as a level; the value itself when there is none. */
  name(family: MessageFamily, value: string, values?: Values): string;
  /** A sentence of the server in this language; `text`, the server's own, where the catalogue lacks it. */
  say(text: string, sentence: SentenceOfApi | null | undefined): string;
  dates: DateFormats;
}

/** Keys of the server's sentences, which the build adds to the catalogue. */
export const SENTENCE_PREFIX = "sentence.";

/** Translates by a catalogue; a key that it lacks is shown as it is. */
export function createTranslator(language: Language, messages: Messages): Translator {
  const i18n = setupI18n({ locale: language, messages: { [language]: messages } });
  const translate = (key: string, values: Values) => (key in messages ? i18n._(key, localized(values, language)) : key);
  return {
    language,
    t: (key, values = {}) => translate(key, values),
    name(family, value, values = {}) {
      const key = `${family}.${value}`;
      return key in messages ? translate(key, values) : value;
    },
    say(text, sentence) {
      if (!sentence || sentence.code === null) return text;
      const isKnown = (code: string) => `${SENTENCE_PREFIX}${code}` in messages;
      let isComplete = true;
      const said = renderReference(sentence as SentenceReference, (code, values) => {
        isComplete &&= isKnown(code);
        return isComplete ? translate(`${SENTENCE_PREFIX}${code}`, values) : "";
      });
      if (isComplete) return said;
      const { translations } = sentence as SentenceReference;
      return translations?.[language] ?? text;
    },
    dates: dateFormats(language),
  };
}

/** Numbers in the manner of the language; `count` stays a number for the plural forms. */
function localized(values: Values, language: Language): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) =>
      typeof value === "number" && name !== "count" ? [name, value.toLocaleString(language)] : [name, value],
    ),
  );
}
