import type { DeliveryItem, VoicePart } from "#plugin-api";

/** What stands around messages. */
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

/** Time to find the key, and between two rounds. */
const KEY_PAUSE_MS = 6_000;
const SHORT_PAUSE_MS = 400;
const FINAL_PAUSE_MS = 600;

/** What is said in one call; each gives the parts of a whole turn of the appliance. */
export interface CallScript {
  /** From the beginning: who calls, the message, and which keys there are. */
  opening: VoicePart[];
  /** The message once more. */
  repetition: VoicePart[];
  /** For a machine that records it: no keys. */
  voicemail: VoicePart[];
  thanks(option: string | null, told: string | null): VoicePart[];
  unknown: VoicePart[];
  late: VoicePart[];
  goodbye: VoicePart[];
}

/** Writes what is said to a recipient. `callerName` introduces the call unless the message's profile says how. */
export function createCallScript(
  { drill, class: urgency, settings, recipient }: DeliveryItem,
  { language, callerName }: { language: SpokenLanguage; callerName: string },
): CallScript {
  const words = TEXTS[language];
  const { introduction } = settings as { introduction?: string | null };
  const kind = drill ? words.drill : urgency === "emergency" ? words.emergency : "";
  const options = recipient?.answers?.options ?? [];
  const keys = options.map((option, at) => words.press(answerKey(at, options.length), option));
  const question = say(...(keys.length > 0 ? keys : [words.heard]), words.again);
  const message: VoicePart[] = [{ pauseMs: SHORT_PAUSE_MS }, { message: true }, { pauseMs: SHORT_PAUSE_MS }];
  const begin = say(introduction?.trim() || words.caller(callerName), kind);
  const rest: VoicePart[] = [...message, question, { pauseMs: KEY_PAUSE_MS }];
  const end = (...said: string[]): VoicePart[] => [say(...said), { pauseMs: FINAL_PAUSE_MS }];
  return {
    opening: [begin, ...rest],
    repetition: rest,
    voicemail: [begin, ...message, ...end(words.goodbye)],
    thanks: (option, told) => end(option === null ? words.thanks : words.answered(option), told ?? "", words.goodbye),
    unknown: [say(words.unknown), { pauseMs: SHORT_PAUSE_MS }, question, { pauseMs: KEY_PAUSE_MS }],
    late: end(words.late, words.goodbye),
    goodbye: end(words.goodbye),
  };
}

function say(...texts: string[]): { text: string } {
  return { text: texts.filter((text) => text !== "").join(" ") };
}

/** The keys of an answer, counted from 1; all have two digits where one does not do for all. */
export function answerKey(at: number, count: number): string {
  return String(at + 1).padStart(count > 9 ? 2 : 1, "0");
}
