import { CallerError } from "../base/errors.ts";
import { inLanguages, type SpokenMessage, spokenText } from "./spoken-text.ts";
import { markedPieces } from "./ssml.ts";

/** What one voice speaks of a message, in a language (null: its own). */
export interface Piece {
  language: string | null;
  isMarkedUp: boolean;
  render(say: (text: string) => string): string;
}

/** True where something is to be spoken. */
export function hasWords(message: SpokenMessage): boolean {
  return message.ttsType === "custom-ssml" ? Boolean(message.ttsCustomContent?.trim()) : spokenText(message) !== "";
}

/** What is spoken one after another. Throws CallerError for markup that can't be spoken. */
export function piecesOf(message: SpokenMessage, isSpoken: (language: string) => boolean): Piece[] {
  if (message.ttsType === "custom-ssml") {
    const marked = markedPieces(message.ttsCustomContent ?? "", isSpoken);
    return marked.map((piece) => ({ ...piece, isMarkedUp: true }));
  }
  const written = spokenText(message);
  const pieces =
    message.ttsType === "custom-text" ? inLanguages(written, isSpoken) : [{ language: null, text: written }];
  return pieces.map(({ language, text }) => ({ language, isMarkedUp: false, render: (say) => say(text) }));
}

/** As `piecesOf`; none where its markup can't be spoken. */
export function wellFormedPieces(message: SpokenMessage, isSpoken: (language: string) => boolean): Piece[] {
  try {
    return piecesOf(message, isSpoken);
  } catch (error) {
    if (!(error instanceof CallerError)) throw error;
    return [];
  }
}
