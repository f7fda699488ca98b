import type { DeliveryItem, VoicePart } from "#plugin-api";

/** What stands around messages. */
export type Language = "en" | "de";

const WORDS = {
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
const THINK_MS = 6_000;
const BREATH_MS = 400;
const LAST_BREATH_MS = 600;

/** What is said in one call; each gives the parts of a whole turn of the appliance. */
export interface Script {
  /** From the beginning: who calls, the message, and which keys there are. */
  opening: VoicePart[];
  /** The message once more. */
  again: VoicePart[];
  /** For a machine that records it: no keys. */
  recorded: VoicePart[];
  thanks(option: string | null, told: string | null): VoicePart[];
  unknown: VoicePart[];
  late: VoicePart[];
  goodbye: VoicePart[];
}

/** Writes what is said to a recipient. `callerName` introduces the call unless the message's profile says how. */
export function writeScript(
  { drill, class: urgency, settings, recipient }: DeliveryItem,
  { language, callerName }: { language: Language; callerName: string },
): Script {
  const words = WORDS[language];
  const { introduction } = settings as { introduction?: string | null };
  const kind = drill ? words.drill : urgency === "emergency" ? words.emergency : "";
  const options = recipient?.answers?.options ?? [];
  const keys = options.map((option, at) => words.press(keyOf(at, options.length), option));
  const question = say(...(keys.length > 0 ? keys : [words.heard]), words.again);
  const message: VoicePart[] = [{ pauseMs: BREATH_MS }, { message: true }, { pauseMs: BREATH_MS }];
  const begin = say(introduction?.trim() || words.caller(callerName), kind);
  const rest: VoicePart[] = [...message, question, { pauseMs: THINK_MS }];
  const end = (...said: string[]): VoicePart[] => [say(...said), { pauseMs: LAST_BREATH_MS }];
  return {
    opening: [begin, ...rest],
    again: rest,
    recorded: [begin, ...message, ...end(words.goodbye)],
    thanks: (option, told) => end(option === null ? words.thanks : words.answered(option), told ?? "", words.goodbye),
    unknown: [say(words.unknown), { pauseMs: BREATH_MS }, question, { pauseMs: THINK_MS }],
    late: end(words.late, words.goodbye),
    goodbye: end(words.goodbye),
  };
}

function say(...texts: string[]): { text: string } {
  return { text: texts.filter((text) => text !== "").join(" ") };
}

/** The keys of an answer, counted from 1; all have two digits where one does not do for all. */
export function keyOf(at: number, count: number): string {
  return String(at + 1).padStart(count > 9 ? 2 : 1, "0");
}
