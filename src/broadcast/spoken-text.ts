import { TTS_LANGUAGES } from "../resources/speech/tts-languages.ts";
import type { NotificationRow } from "./compose.ts";

/** What of a message decides which words are spoken. */
export type SpokenMessage = Pick<NotificationRow, "subject" | "body" | "ttsType" | "ttsCustomContent"> & {
  drill?: boolean;
};

/** A word as it is written and as it is spoken, in a language. */
export interface LexiconEntry {
  language: string;
  find: string;
  replace: string;
}

/** The words that are spoken of a message, empty for none. own choice: an exercise says so first. */
export function spokenText({ subject, body, ttsType, ttsCustomContent, drill }: SpokenMessage): string {
  const parts = {
    none: [],
    subject: [subject],
    body: [body],
    "subject-and-body": [subject, body],
    "custom-text": [ttsCustomContent],
  }[ttsType ?? "none"];
  const words = parts.flatMap((part) => part?.trim() || []);
  return words.length === 0 ? "" : [...(drill ? ["Drill"] : []), ...words].map(asSentence).join(" ");
}

function asSentence(text: string): string {
  return /[.!?:;…]$/.test(text) ? text : `${text}.`;
}

/** Puts words as they are spoken in the place of those written: whole words in any case, the longest first. */
export function applyLexicon(text: string, entries: readonly LexiconEntry[], language: string): string {
  const spoken = new Map<string, string>();
  for (const entry of entries) {
    if (speaks(language, entry.language)) spoken.set(entry.find.toLowerCase(), entry.replace);
  }
  if (spoken.size === 0) return text;
  const finds = [...spoken.keys()].sort((a, b) => b.length - a.length).map(escaped);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${finds.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return text.replace(pattern, (found) => spoken.get(found.toLowerCase()) ?? found);
}

/** own choice: a voice of a region that lexicons know takes its region's words, any other those of its language. */
function speaks(voice: string, lexicon: string): boolean {
  const [mine, theirs] = [voice.toLowerCase(), lexicon.toLowerCase()];
  if (mine === theirs) return true;
  if (TTS_LANGUAGES.some((known) => known.toLowerCase() === mine)) return false;
  const primary = (tag: string): string => (tag.split("-")[0] ?? "").replace(/^arb$/, "ar");
  return primary(mine) === primary(theirs);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&");
}
