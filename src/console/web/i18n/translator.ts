import type { MessageKey } from "./en.ts";
import type { DateFormats, Language, Values } from "./format.ts";

/** What a part needs to speak. */
export interface Translator {
  language: Language;
  t(key: MessageKey, values?: Values): string;
  /** The words for a value that the API names, such as a level; the value itself when there are none. */
  name(family: string, value: string): string;
  dates: DateFormats;
  setLanguage(language: Language): void;
}
