import type { Clock, DeliveryItem, PluginContext, Timer, VoicePart } from "#plugin-api";
import type { CallProgressResult } from "./answering-machine-detection.ts";
import { answerKey, type CallScript } from "./call-script.ts";

/** What is said and answered once somebody has picked up. */
export interface CallConversation {
  /** Says everything from the beginning; may be asked for again, when the sound goes elsewhere. */
  start(): void;
  pressKey(key: string): void;
  /** What the sound of the other side is like. */
  handleCallProgress(heard: CallProgressResult): void;
  /** What came of it so far. */
  readonly summary: string;
  stop(): void;
}

/** What a conversation needs. */
export interface CallConversationDeps extends Pick<PluginContext, "confirm" | "outcome"> {
  clock: Clock;
  /** Resolves with the length in ms. */
  say(parts: readonly VoicePart[]): Promise<number>;
  repetitions: number;
  /** Everything was said, and in words what came of it. */
  onOver(words: string): void;
}

const REPEAT_KEY = "*";
/** How long the second digit of an answer is waited for. */
const DIGIT_TIMEOUT_MS = 5_000;

/** Makes a conversation about a message. Keys may be pressed at any time, also while something is said. */
export function createCallConversation(
  { deliveryId, recipient }: DeliveryItem,
  script: CallScript,
  { clock, say, confirm, outcome, repetitions, onOver }: CallConversationDeps,
): CallConversation {
  const options = recipient?.answers?.options ?? [];
  const answers = new Map(options.map((option, at) => [answerKey(at, options.length), option]));
  const digits = options.length > 9 ? 2 : 1;
  let words = "It was answered, and nobody pressed a key.";
  let rounds = 0;
  let pressed = "";
  let timer: Timer | null = null;
  let digitTimer: Timer | null = null;
  let isLeaving = false;
  let stopped = false;
  let heard: CallProgressResult = "person";

  /** What was begun later takes the place of what was begun before. */
  let turn = 0;
  const speak = (parts: readonly VoicePart[], then: () => void): void => {
    const mine = ++turn;
    timer?.cancel();
    const failed = (error: Error): void => {
      if (mine === turn && !stopped) onOver(`${words} Nothing more could be said: ${error.message}`);
    };
    say(parts).then((ms) => {
      if (mine === turn && !stopped) timer = clock.after(ms, then);
    }, failed);
  };
  const sayAndEnd = (parts: readonly VoicePart[]): void => {
    isLeaving = true;
    speak(parts, () => onOver(words));
  };
  const nextRound = (): void => {
    if (++rounds < repetitions) speak(script.repetition, nextRound);
    else sayAndEnd(script.goodbye);
  };
  const repeatMessage = (): void => {
    rounds = 0;
    isLeaving = false;
    speak(script.repetition, nextRound);
  };

  const confirmOption = (option: string): void => {
    // Whoever pressed it knows it by the answer; nothing else is to be said meanwhile.
    turn++;
    timer?.cancel();
    const id = recipient?.id ?? "";
    confirm(id, option).then(
      (told) => {
        outcome(deliveryId, "confirmed");
        words = "It was answered by a key.";
        if (!stopped) sayAndEnd(script.thanks(option, told));
      },
      () => {
        outcome(deliveryId, "heard");
        words = "A key was pressed when answers were taken no more.";
        if (!stopped) sayAndEnd(script.late);
      },
    );
  };
  const acknowledge = (): void => {
    words = "A key was pressed: the message was understood.";
    outcome(deliveryId, "heard");
    sayAndEnd(script.thanks(null, null));
  };

  return {
    get summary() {
      return words;
    },
    start() {
      speak(script.opening, nextRound);
    },
    pressKey(key) {
      if (stopped) return;
      digitTimer?.cancel();
      if (key === REPEAT_KEY) {
        pressed = "";
        return repeatMessage();
      }
      if (options.length === 0) return acknowledge();
      pressed += key;
      if (pressed.length < digits && key !== "#") {
        digitTimer = clock.after(DIGIT_TIMEOUT_MS, () => {
          pressed = "";
        });
        return;
      }
      const option = answers.get(pressed);
      pressed = "";
      if (option !== undefined) confirmOption(option);
      else speak(script.unknown, nextRound);
    },
    handleCallProgress(now) {
      if (now === heard || stopped) return;
      heard = now;
      if (now !== "machine-ready" || isLeaving) return;
      words = "A machine seems to have answered; the message was spoken to it.";
      sayAndEnd(script.voicemail);
    },
    stop() {
      stopped = true;
      timer?.cancel();
      digitTimer?.cancel();
    },
  };
}
