import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { BugError } from "../../../base/errors.ts";
import type { MessageKey } from "./en.ts";
import { firstEn } from "./first-en.ts";
import { dateFormats, formatMessage, LANGUAGES, type Language } from "./format.ts";
import type { Translator } from "./translator.ts";

type Catalogue = Readonly<Partial<Record<MessageKey, string>>>;

/** The words of the first page come with the app in English; all others are loaded by those who read them. */
const WHOLE: Readonly<Record<Language, () => Promise<Catalogue>>> = {
  en: async () => (await import("./en.ts")).en,
  de: async () => (await import("./de.ts")).de,
};
const STORED_AS = "carillon.language";

interface Loaded {
  language: Language;
  catalogue: Catalogue;
  /** It has the words of all pages. */
  isWhole: boolean;
}

interface WordsState extends Translator {
  isWhole: boolean;
  wantWhole(): void;
}

const WordsContext = createContext<WordsState | null>(null);

/** Gives its children words in the language that was chosen, at first the browser's. */
export function TranslationProvider({ children }: { children: ReactNode }) {
  const [wanted, setLanguage] = useState<Language>(firstLanguage);
  const [wantsWhole, setWantsWhole] = useState(false);
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  useEffect(() => {
    let isWanted = true;
    const take = (next: Loaded) => isWanted && setLoaded(next);
    const takeFirst = () => take({ language: "en", catalogue: firstEn, isWhole: wantsWhole });
    if (wanted === "en" && !wantsWhole) takeFirst();
    // Words of another language are better than none.
    else WHOLE[wanted]().then((catalogue) => take({ language: wanted, catalogue, isWhole: true }), takeFirst);
    return () => {
      isWanted = false;
    };
  }, [wanted, wantsWhole]);
  const language = loaded?.language ?? wanted;
  useEffect(() => {
    document.documentElement.lang = language;
    localStorage.setItem(STORED_AS, language);
  }, [language]);
  const wantWhole = useCallback(() => setWantsWhole(true), []);
  const words = useMemo<WordsState>(() => {
    const catalogue: Readonly<Record<string, string>> = loaded?.catalogue ?? firstEn;
    return {
      language,
      t: (key, values = {}) => formatMessage(catalogue[key] ?? key, values, language),
      name: (family, value) => catalogue[`${family}.${value}`] ?? value,
      dates: dateFormats(language),
      setLanguage,
      isWhole: loaded?.isWhole ?? false,
      wantWhole,
    };
  }, [language, loaded, wantWhole]);
  if (!loaded) return null;
  return <WordsContext.Provider value={words}>{children}</WordsContext.Provider>;
}

/** Shows its children once the words of all pages are there, and something else until then. */
export function FullCatalogue({
  children,
  meanwhile: fallback = null,
}: {
  children: ReactNode;
  meanwhile?: ReactNode;
}) {
  const { isWhole, wantWhole } = useTranslation();
  useEffect(wantWhole, [wantWhole]);
  return isWhole ? children : fallback;
}

/** The words of the nearest provider. */
export function useTranslation(): WordsState {
  const words = useContext(WordsContext);
  if (!words) throw new BugError("no WordsProvider");
  return words;
}

function firstLanguage(): Language {
  const wanted = localStorage.getItem(STORED_AS) ?? navigator.language.slice(0, 2);
  return LANGUAGES.find((language) => language === wanted) ?? "en";
}
