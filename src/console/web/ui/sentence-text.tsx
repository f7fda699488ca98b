import { useEffect } from "react";
import type { SentenceOfApi } from "../i18n/translator.ts";
import { useTranslation } from "../i18n/use-translation.tsx";

/** A sentence of the server in the language of the account. */
export function SentenceText({ text, sentence }: { text: string; sentence: SentenceOfApi | null | undefined }) {
  const { say, loadComplete } = useTranslation();
  // The messages of the first page do not contain the server's sentences.
  useEffect(loadComplete, [loadComplete]);
  return <>{say(text, sentence)}</>;
}
