import { TTS_LANGUAGES } from "../../resources/speech/tts-languages.ts";
import type { NotificationRow } from "./message-builder.ts";

/** The fields of a message that determine the spoken text. */
export type SpokenMessage = Pick<NotificationRow, "subject" | "body" | "ttsType" | "ttsCustomContent">;

/** Pronunciation of a word in a language. */
export interface LexiconEntry {
  language: string;
  find: string;
  replace: string;
}

/** The text to speak; empty for none, and for SSML. */
export function spokenText({ subject, body, ttsType, ttsCustomContent }: SpokenMessage): string {
  const parts = {
    none: [],
    subject: [subject],
    body: [body],
    "subject-and-body": [subject, body],
    "custom-text": [ttsCustomContent],
    "custom-ssml": [],
  }[ttsType ?? "none"];
  const texts = parts.flatMap((part) => part?.trim() || []);
  return texts.map(asSentence).join(" ");
}

function asSentence(text: string): string {
  return /[.!?:;…]$/.test(text) ? text : `${text}.`;
}

/** Text spoken in one language; null for that of the message's voice. */
export interface LanguageSegment {
  language: string | null;
  text: string;
}

const LANGUAGE_TAG = /\[([a-z]{2,3}(?:-[a-z]{2,4})?)\]/giu;

/**
 * Splits text at language tags: after [de-DE] the text is spoken in German. A tag of a language without a voice is
 * plain text. No segment is empty.
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

/** True if a voice speaks a language; the voice of one region also speaks for another. */
export function matchesLanguage(voice: string, language: string): boolean {
  return primaryLanguage(voice) === primaryLanguage(language);
}

/** Replaces words by their pronunciation: whole words in any case, the longest first. */
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

/** A voice of a region with its own lexicon uses that region's entries, any other voice those of its language. */
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
