import type { ToneSegment } from "../../media/tone-segments.ts";
import type { PromptPart } from "../../notifications/engine/voice-calls.ts";

const note = (frequenciesHz: readonly number[], durationMs: number): ToneSegment => ({
  ...{ frequenciesHz, durationMs },
  envelope: "steady",
});
const rest = (durationMs: number): ToneSegment => note([], durationMs);

/** Signal to speak. */
const BEEP = [note([1_000], 250)];
const HIGHER = [note([660], 150), note([880], 250)];
const LOWER = [note([440], 200), note([330], 350)];
const ATTENTION = [note([880], 120), rest(80), note([880], 120)];

/**
 * Sentences to callers, in the languages of the voices, and the signal in their place where no voice is available.
 */
const PROMPTS = {
  pin: { tone: ATTENTION, en: "Enter the PIN, then the hash key.", de: "Geben Sie die PIN ein, dann die Rautetaste." },
  "wrong-pin": { tone: LOWER, en: "The PIN is wrong.", de: "Die PIN ist falsch." },
  locked: {
    tone: [...LOWER, rest(200), ...LOWER],
    en: "Too many wrong PINs. Goodbye.",
    de: "Zu viele falsche PINs. Auf Wiederhören.",
  },
  sent: { tone: HIGHER, en: "The message is being sent.", de: "Die Nachricht wird gesendet." },
  "not-sent": { tone: LOWER, en: "The message was not sent.", de: "Die Nachricht wurde nicht gesendet." },
  record: {
    tone: ATTENTION,
    en: "Speak after the tone. Press the hash key at the end.",
    de: "Sprechen Sie nach dem Ton. Drücken Sie am Ende die Rautetaste.",
  },
  recorded: {
    tone: [...ATTENTION, rest(200), ...ATTENTION],
    en: "Press 1 to send it, 2 to record it again.",
    de: "Drücken Sie die 1 zum Senden, die 2 für eine neue Aufnahme.",
  },
  "nothing-recorded": { tone: LOWER, en: "Nothing was recorded.", de: "Es wurde nichts aufgenommen." },
  cleared: { tone: HIGHER, en: "The all-clear is being sent.", de: "Die Entwarnung wird gesendet." },
  "nothing-to-clear": {
    tone: LOWER,
    en: "There is no message that needs an all-clear.",
    de: "Es gibt keine Nachricht, die eine Entwarnung braucht.",
  },
  "no-broadcast": { tone: LOWER, en: "There is no announcement to play.", de: "Es gibt keine Durchsage." },
  echo: {
    tone: ATTENTION,
    en: "Echo test. You hear what you say.",
    de: "Echotest. Sie hören, was Sie sagen.",
  },
} as const;

/** A prompt in the language of the voice; English where there is no translation. */
export function prompt(name: keyof typeof PROMPTS): PromptPart {
  const { tone, en, de } = PROMPTS[name];
  return { textIn: (language) => (/^de\b/i.test(language) ? de : en), tone };
}

/** The signal after which the caller speaks. */
export const SPEAK_NOW: PromptPart = { tone: BEEP };
