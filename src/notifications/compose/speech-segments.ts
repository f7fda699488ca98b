import { CallerError } from "../../lib/errors.ts";
import { type SpokenMessage, splitByLanguage, spokenText } from "./speech-text.ts";
import { splitSsml } from "./ssml.ts";

/** A part of a message that one voice speaks, in a language (null: the voice's own). */
export interface SpeechSegment {
  language: string | null;
  isMarkedUp: boolean;
  render(say: (text: string) => string): string;
}

/** True if the message has speech. */
export function hasSpeech(message: SpokenMessage): boolean {
  return message.ttsType === "custom-ssml" ? Boolean(message.ttsCustomContent?.trim()) : spokenText(message) !== "";
}

/** The parts of the speech, in order. Throws CallerError for invalid SSML. */
export function splitSpeech(message: SpokenMessage, isSpoken: (language: string) => boolean): SpeechSegment[] {
  if (message.ttsType === "custom-ssml") {
    const marked = splitSsml(message.ttsCustomContent ?? "", isSpoken);
    return marked.map((piece) => ({ ...piece, isMarkedUp: true }));
  }
  const written = spokenText(message);
  const pieces =
    message.ttsType === "custom-text" ? splitByLanguage(written, isSpoken) : [{ language: null, text: written }];
  return pieces.map(({ language, text }) => ({ language, isMarkedUp: false, render: (say) => say(text) }));
}

/** As `splitSpeech`; empty for invalid SSML. */
export function splitValidSpeech(message: SpokenMessage, isSpoken: (language: string) => boolean): SpeechSegment[] {
  try {
    return splitSpeech(message, isSpoken);
  } catch (error) {
    if (!(error instanceof CallerError)) throw error;
    return [];
  }
}
