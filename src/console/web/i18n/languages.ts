/** Languages of the console; each has a catalogue of its name beside this file. */
export const LANGUAGES = ["en", "de"] as const;

/** One of the languages, as a BCP 47 tag. */
export type Language = (typeof LANGUAGES)[number];

/** The language of the keys: shown where the browser asks for none of the others. */
export const DEFAULT_LANGUAGE: Language = "en";

/** The name of a language in itself, such as "Deutsch". */
export function languageName(language: Language): string {
  return new Intl.DisplayNames(language, { type: "language" }).of(language) ?? language;
}

/** The first of `wanted` (BCP 47 tags, most wanted first) that the console has. */
export function bestLanguage(wanted: readonly (string | null)[]): Language {
  const tags = wanted.map((tag) => tag?.split("-")[0]?.toLowerCase());
  return tags.flatMap((tag) => LANGUAGES.filter((language) => language === tag))[0] ?? DEFAULT_LANGUAGE;
}
