import { firstEnglish, loadAll, loadFirst } from "virtual:console-messages";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useState } from "react";
import { BugError } from "../../../lib/errors.ts";
import { bestLanguage, DEFAULT_LANGUAGE, type Language } from "./languages.ts";
import { createTranslator, type Messages, type Translator } from "./translator.ts";

const LANGUAGE_KEY = "carillon.language";

interface Loaded {
  language: Language;
  messages: Messages;
  /** Messages of all pages are there. */
  isComplete: boolean;
}

interface TranslationState extends Translator {
  isComplete: boolean;
  loadComplete(): void;
  setLanguage(language: Language): void;
  /** Back to the browser's language. */
  resetLanguage(): void;
}

const TranslationContext = createContext<TranslationState | null>(null);

/** Provides messages in the chosen language, at first the browser's. */
export function TranslationProvider({ children }: { children: ReactNode }) {
  const [wanted, setWanted] = useState<Language>(() =>
    bestLanguage([localStorage.getItem(LANGUAGE_KEY), ...navigator.languages]),
  );
  const setLanguage = useCallback((next: Language) => {
    // Kept for the next start, which need not wait for the account then.
    localStorage.setItem(LANGUAGE_KEY, next);
    setWanted(next);
  }, []);
  const resetLanguage = useCallback(() => {
    localStorage.removeItem(LANGUAGE_KEY);
    setWanted(bestLanguage(navigator.languages));
  }, []);
  const [needsComplete, setNeedsComplete] = useState(false);
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  useEffect(() => {
    let isCurrent = true;
    const use = (next: Loaded) => isCurrent && setLoaded(next);
    void load(wanted, needsComplete).then(use, () =>
      // Another language is better than an empty page.
      use({ language: DEFAULT_LANGUAGE, messages: firstEnglish, isComplete: needsComplete }),
    );
    return () => {
      isCurrent = false;
    };
  }, [wanted, needsComplete]);
  const language = loaded?.language ?? wanted;
  useEffect(() => {
    document.documentElement.lang = language;
  }, [language]);
  const loadComplete = useCallback(() => setNeedsComplete(true), []);
  const state = useMemo<TranslationState>(
    () => ({
      ...createTranslator(language, loaded?.messages ?? firstEnglish),
      isComplete: loaded?.isComplete ?? false,
      loadComplete,
      setLanguage,
      resetLanguage,
    }),
    [language, loaded, loadComplete, setLanguage, resetLanguage],
  );
  if (!loaded) return null;
  return <TranslationContext.Provider value={state}>{children}</TranslationContext.Provider>;
}

async function load(language: Language, complete: boolean): Promise<Loaded> {
  const loader = complete ? loadAll[language] : loadFirst[language];
  const messages = !complete && language === DEFAULT_LANGUAGE ? firstEnglish : await loader?.();
  if (!messages) throw new BugError(`no catalogue of ${language}`);
  return { language, messages, isComplete: complete };
}

/** Renders its children once the messages of all pages are loaded, `fallback` until then. */
export function FullCatalogue({ children, fallback = null }: { children: ReactNode; fallback?: ReactNode }) {
  const { isComplete, loadComplete } = useTranslation();
  useEffect(loadComplete, [loadComplete]);
  return isComplete ? children : fallback;
}

/** Messages, names and dates in the current language. */
export function useTranslation(): TranslationState {
  const state = useContext(TranslationContext);
  if (!state) throw new BugError("no TranslationProvider");
  return state;
}
