/** What is said before anything else of an exercise, by language. own choice: one word, so that it is heard even half asleep. */
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

/** The sentence for a voice of this language (a tag such as de-AT); the English one where we have no word. */
export function drillAnnouncement(language: string): string {
  return `${WORDS[language.toLowerCase().split("-")[0] ?? ""] ?? WORDS.en}.`;
}
