import type { DeliveryItem, VoicePart } from "#plugin-api";

export type SpokenLanguage = "en" | "de";

const TEXTS = {
  en: {
    caller: (name: string) => `This is an automatic call from ${name}.`,
    drill: "This is only an exercise.",
    emergency: "This is an emergency message.",
    press: (key: string, option: string) => `For ${option}, press ${key}.`,
    heard: "Press 1 when you have understood the message.",
    again: "Press star to hear it again.",
    thanks: "Thank you.",
    answered: (option: string) => `Thank you. Your answer is: ${option}.`,
    unknown: "This key has no meaning here.",
    late: "Answers to this message are taken no more.",
    goodbye: "Goodbye.",
  },
  de: {
    caller: (name: string) => `Dies ist ein automatischer Anruf von ${name}.`,
    drill: "Dies ist nur eine Übung.",
    emergency: "Dies ist eine Notfallmeldung.",
    press: (key: string, option: string) => `Für ${option} drücken Sie die ${key}.`,
    heard: "Drücken Sie die 1, wenn Sie die Meldung verstanden haben.",
    again: "Mit der Sterntaste hören Sie sie noch einmal.",
    thanks: "Danke.",
    answered: (option: string) => `Danke. Ihre Antwort ist: ${option}.`,
    unknown: "Diese Taste ist hier nicht belegt.",
    late: "Antworten auf diese Meldung werden nicht mehr angenommen.",
    goodbye: "Auf Wiederhören.",
  },
} as const;

/** Time to find a key, and pause between repetitions. */
const KEY_PAUSE_MS = 6_000;
const SHORT_PAUSE_MS = 400;
const FINAL_PAUSE_MS = 600;

/** Speech of one call; each member is one uninterrupted announcement. */
export interface CallScript {
  /** Caller, message and available keys. */
  opening: VoicePart[];
  /** The message and the keys again. */
  repetition: VoicePart[];
  /** For an answering machine: without keys. */
  voicemail: VoicePart[];
  thanks(option: string | null, told: string | null): VoicePart[];
  unknown: VoicePart[];
  late: VoicePart[];
  goodbye: VoicePart[];
}

/** Creates the script of a call. `callerName` introduces the call unless the profile has an introduction. */
export function createCallScript(
  { drill, class: urgency, settings, recipient }: DeliveryItem,
  { language, callerName }: { language: SpokenLanguage; callerName: string },
): CallScript {
  const texts = TEXTS[language];
  const { introduction } = settings as { introduction?: string | null };
  const kind = drill ? texts.drill : urgency === "emergency" ? texts.emergency : "";
  const options = recipient?.answers?.options ?? [];
  const keys = options.map((option, at) => texts.press(answerKey(at, options.length), option));
  const question = say(...(keys.length > 0 ? keys : [texts.heard]), texts.again);
  const message: VoicePart[] = [{ pauseMs: SHORT_PAUSE_MS }, { message: true }, { pauseMs: SHORT_PAUSE_MS }];
  const begin = say(introduction?.trim() || texts.caller(callerName), kind);
  const rest: VoicePart[] = [...message, question, { pauseMs: KEY_PAUSE_MS }];
  const end = (...sentences: string[]): VoicePart[] => [say(...sentences), { pauseMs: FINAL_PAUSE_MS }];
  return {
    opening: [begin, ...rest],
    repetition: rest,
    voicemail: [begin, ...message, ...end(texts.goodbye)],
    thanks: (option, told) => end(option === null ? texts.thanks : texts.answered(option), told ?? "", texts.goodbye),
    unknown: [say(texts.unknown), { pauseMs: SHORT_PAUSE_MS }, question, { pauseMs: KEY_PAUSE_MS }],
    late: end(texts.late, texts.goodbye),
    goodbye: end(texts.goodbye),
  };
}

function say(...texts: string[]): { text: string } {
  return { text: texts.filter((text) => text !== "").join(" ") };
}

/** Key of a response option, from 1; two digits if there are more than nine options. */
export function answerKey(at: number, count: number): string {
  return String(at + 1).padStart(count > 9 ? 2 : 1, "0");
}
