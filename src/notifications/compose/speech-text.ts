import { TTS_LANGUAGES } from "../../resources/speech/tts-languages.ts";
import type { NotificationRow } from "./message-builder.ts";

/** What of a message decides which words are spoken. */
export type SpokenMessage = Pick<NotificationRow, "subject" | "body" | "ttsType" | "ttsCustomContent">;

/** A word as it is written and as it is spoken, in a language. */
export interface LexiconEntry {
  language: string;
  find: string;
  replace: string;
}

/** The words that are spoken of a message, empty for none, and for those that are marked up. */
export function spokenText({ subject, body, ttsType, ttsCustomContent }: SpokenMessage): string {
  const parts = {
    none: [],
    subject: [subject],
    body: [body],
    "subject-and-body": [subject, body],
    "custom-text": [ttsCustomContent],
    "custom-ssml": [],
  }[ttsType ?? "none"];
  const words = parts.flatMap((part) => part?.trim() || []);
  return words.map(asSentence).join(" ");
}

function asSentence(text: string): string {
  return /[.!?:;…]$/.test(text) ? text : `${text}.`;
}

/** Words that are spoken in one language; null for that of the message's voice. */
export interface LanguageSegment {
  language: string | null;
  text: string;
}

const LANGUAGE_TAG = /\[([a-z]{2,3}(?:-[a-z]{2,4})?)\]/giu;

/**
 * Words in several languages, one after another: a tag such as [de-DE] has what follows spoken in that language. A tag of a
 * language that nobody speaks is a word like others. No piece is empty. own choice
 */
export function splitByLanguage(text: string, isSpoken: (language: string) => boolean): LanguageSegment[] {
  const pieces: LanguageSegment[] = [{ language: null, text: "" }];
  let at = 0;
  for (const { 0: tag, 1: language = "", index } of text.matchAll(LANGUAGE_TAG)) {
    if (!isSpoken(language)) continue;
    (pieces.at(-1) as LanguageSegment).text += text.slice(at, index);
    pieces.push({ language, text: "" });
    at = index + tag.length;
  }
  (pieces.at(-1) as LanguageSegment).text += text.slice(at);
  return pieces.map((piece) => ({ ...piece, text: piece.text.trim() })).filter((piece) => piece.text !== "");
}

/** Whether a voice speaks a language: that of a region is spoken by another's, too. */
export function matchesLanguage(voice: string, language: string): boolean {
  return primaryLanguage(voice) === primaryLanguage(language);
}

/** Puts words as they are spoken in the place of those written: whole words in any case, the longest first. */
export function applyLexicon(text: string, entries: readonly LexiconEntry[], language: string): string {
  const spoken = new Map<string, string>();
  for (const entry of entries) {
    if (usesLexicon(language, entry.language)) spoken.set(entry.find.toLowerCase(), entry.replace);
  }
  if (spoken.size === 0) return text;
  const finds = [...spoken.keys()].sort((a, b) => b.length - a.length).map(escapeRegExp);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${finds.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return text.replace(pattern, (found) => spoken.get(found.toLowerCase()) ?? found);
}

/** own choice: a voice of a region that lexicons know takes its region's words, any other those of its language. */
function usesLexicon(voice: string, lexicon: string): boolean {
  const [mine, theirs] = [voice.toLowerCase(), lexicon.toLowerCase()];
  if (mine === theirs) return true;
  if (TTS_LANGUAGES.some((known) => known.toLowerCase() === mine)) return false;
  return primaryLanguage(mine) === primaryLanguage(theirs);
}

function primaryLanguage(tag: string): string {
  return (tag.toLowerCase().split("-")[0] ?? "").replace(/^arb$/, "ar");
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}
