import { type Messages as Compiled, setupI18n } from "@lingui/core";
import { type DateFormats, dateFormats } from "./format.ts";
import type { Language } from "./languages.ts";
import type { MessageFamily, MessageKey } from "./message-keys.ts";

/** Values of the `{name}` placeholders of a message; `count` also chooses the plural form. */
export type Values = Readonly<Record<string, string | number>>;

/** A catalogue, or a part of one, as `compileCatalogue` makes it. */
export type Messages = Readonly<Compiled>;

/** Messages, names and dates in one language. */
export interface Translator {
  language: Language;
  t(key: MessageKey, values?: Values): string;
  /** The text for a value that the API names, such as a level; the value itself when there is none. */
  name(family: MessageFamily, value: string, values?: Values): string;
  dates: DateFormats;
}

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
