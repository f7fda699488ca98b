import type { WordKey } from "./en.ts";
import type { Language, Moments, Values } from "./format.ts";

/** What a part needs to speak. */
export interface Words {
  language: Language;
  t(key: WordKey, values?: Values): string;
  /** The words for a value that the API names, such as a level; the value itself when there are none. */
  name(family: string, value: string): string;
  moments: Moments;
  setLanguage(language: Language): void;
}
