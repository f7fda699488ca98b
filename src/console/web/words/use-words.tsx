import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from "react";
import { BugError } from "../../../base/errors.ts";
import { en, type WordKey } from "./en.ts";
import { fill, LANGUAGES, type Language, momentsOf } from "./format.ts";
import type { Words } from "./words.ts";

type Catalogue = Readonly<Record<WordKey, string>>;

/** English comes with the app; another language is loaded by those who read it. */
const OTHERS: Readonly<Record<Exclude<Language, "en">, () => Promise<Catalogue>>> = {
  de: async () => (await import("./de.ts")).de,
};
const STORED_AS = "carillon.language";

const WordsContext = createContext<Words | null>(null);

/** Gives its children words in the language that was chosen, at first the browser's. */
export function WordsProvider({ children }: { children: ReactNode }) {
  const [wanted, setLanguage] = useState<Language>(firstLanguage);
  const [loaded, setLoaded] = useState<{ language: Language; catalogue: Catalogue } | null>(null);
  useEffect(() => {
    let isWanted = true;
    const take = (catalogue: Catalogue) => isWanted && setLoaded({ language: wanted, catalogue });
    // Words of another language are better than none.
    if (wanted === "en") take(en);
    else OTHERS[wanted]().then(take, () => take(en));
    return () => {
      isWanted = false;
    };
  }, [wanted]);
  const language = loaded?.language ?? wanted;
  useEffect(() => {
    document.documentElement.lang = language;
    localStorage.setItem(STORED_AS, language);
  }, [language]);
  const words = useMemo<Words>(() => {
    const catalogue: Readonly<Record<string, string>> = loaded?.catalogue ?? en;
    return {
      language,
      t: (key, values = {}) => fill(catalogue[key] ?? key, values, language),
      name: (family, value) => catalogue[`${family}.${value}`] ?? value,
      moments: momentsOf(language),
      setLanguage,
    };
  }, [language, loaded]);
  if (!loaded) return null;
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
