import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { BugError } from "../../../base/errors.ts";
import { de } from "./de.ts";
import { en, type WordKey } from "./en.ts";
import { fill, LANGUAGES, type Language, momentsOf } from "./format.ts";
import type { Words } from "./words.ts";

const CATALOGUES: Readonly<Record<Language, Readonly<Record<WordKey, string>>>> = { en, de };
const STORED_AS = "carillon.language";

const WordsContext = createContext<Words | null>(null);

/** Gives its children words in the language that was chosen, at first the browser's. */
export function WordsProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState<Language>(firstLanguage);
  useEffect(() => {
    document.documentElement.lang = language;
    localStorage.setItem(STORED_AS, language);
  }, [language]);
  const words = useMemo<Words>(() => {
    const catalogue: Readonly<Record<string, string>> = CATALOGUES[language];
    return {
      language,
      t: (key, values = {}) => fill(catalogue[key] ?? key, values, language),
      name: (family, value) => catalogue[`${family}.${value}`] ?? value,
      moments: momentsOf(language),
      setLanguage,
    };
  }, [language]);
  return <WordsContext.Provider value={words}>{children}</WordsContext.Provider>;
}

/** The words of the nearest provider. */
export function useWords(): Words {
  const words = useContext(WordsContext);
  if (!words) throw new BugError("no WordsProvider");
  return words;
}

function firstLanguage(): Language {
  const wanted = localStorage.getItem(STORED_AS) ?? navigator.language.slice(0, 2);
  return LANGUAGES.find((language) => language === wanted) ?? "en";
}
