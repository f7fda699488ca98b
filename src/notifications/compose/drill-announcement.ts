/** Drill announcement by language: one word, so that even a half-asleep listener understands it. */
const WORDS: Readonly<Record<string, string>> = {
  ar: "تمرين",
  cs: "Cvičení",
  da: "Øvelse",
  de: "Übung",
  el: "Άσκηση",
  en: "Drill",
  es: "Simulacro",
  fi: "Harjoitus",
  fr: "Exercice",
  hu: "Gyakorlat",
  it: "Esercitazione",
  nb: "Øvelse",
  nl: "Oefening",
  pl: "Ćwiczenia",
  pt: "Simulado",
  ru: "Учения",
  sv: "Övning",
  tr: "Tatbikat",
  uk: "Навчання",
};

/** The announcement for a voice of this language (a tag such as de-AT); English where there is no translation. */
export function drillAnnouncement(language: string): string {
  return `${WORDS[language.toLowerCase().split("-")[0] ?? ""] ?? WORDS.en}.`;
}
