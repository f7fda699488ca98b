import { setupI18n } from "@lingui/core";
import { compileMessageOrThrow } from "@lingui/message-utils/compileMessage";
import { BugError } from "../errors.ts";
import type { FoundSentence } from "./reading.ts";
import type { RenderSentence } from "./reference.ts";
import { matchTemplate, type Template, templatesOf } from "./template.ts";

/** Messages of one language by code. */
export type SentenceMessages = Readonly<Record<string, string>>;

/** Renders by the messages of a language. A message is compiled when it is first used: all at once would take some 100 ms. */
export function createSentenceRenderer(locale: string, messages: SentenceMessages): RenderSentence {
  const i18n = setupI18n({ locale, messages: { [locale]: {} } });
  const compiled = new Set<string>();
  return (code, params) => {
    const message = messages[code];
    if (message === undefined) throw new BugError(`no sentence ${code}`, { code });
    if (!/[{}]|''/.test(message)) return message;
    if (!compiled.has(code)) {
      compiled.add(code);
      i18n.load(locale, { [code]: compileMessageOrThrow(message) });
    }
    return i18n._(code, { ...params });
  };
}

/** Finds the sentence that a text was made from: the one with the most words of it. */
export function createSentenceFinder(messages: SentenceMessages): (text: string) => FoundSentence | null {
  const entries = Object.entries(messages).map(([code, message]) => ({
    code,
    message,
    opening: /^[^{']*/.exec(message)?.[0] ?? "",
  }));
  // Most messages begin with words: a text is compared with those that begin with the same character.
  const byStart = new Map<string, typeof entries>();
  for (const entry of entries) {
    const start = entry.opening.slice(0, 1);
    const others = byStart.get(start);
    if (others) others.push(entry);
    else byStart.set(start, [entry]);
  }
  const templates = new Map<string, Template[]>();
  const templatesFor = (code: string, message: string): Template[] => {
    const known = templates.get(code) ?? templatesOrNone(message);
    templates.set(code, known);
    return known;
  };
  return (text) => {
    let best: FoundSentence | null = null;
    for (const { code, message, opening } of [
      ...(byStart.get(text.slice(0, 1)) ?? []),
      ...(text === "" ? [] : (byStart.get("") ?? [])),
    ]) {
      if (!text.startsWith(opening)) continue;
      for (const template of templatesFor(code, message)) {
        const found = matchTemplate(template, text);
        if (found && found.words > (best?.words ?? 0)) best = { code, ...found };
      }
    }
    return best;
  };
}

/** A plugin's message may be invalid; no text is of its form then. */
function templatesOrNone(message: string): Template[] {
  try {
    return templatesOf(message, compileMessageOrThrow);
  } catch {
    return [];
  }
}
