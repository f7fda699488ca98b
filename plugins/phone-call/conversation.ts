import type { Clock, DeliveryItem, PluginContext, Timer, VoicePart } from "#plugin-api";
import type { Heard } from "./greeting.ts";
import { keyOf, type Script } from "./words.ts";

/** What is said and answered once somebody has picked up. */
export interface Conversation {
  /** Says everything from the beginning; may be asked for again, when the sound goes elsewhere. */
  begin(): void;
  press(key: string): void;
  /** What the sound of the other side is like. */
  hear(heard: Heard): void;
  /** What came of it so far. */
  readonly words: string;
  stop(): void;
}

/** What a conversation needs. */
export interface ConversationNeeds extends Pick<PluginContext, "confirm" | "outcome"> {
  clock: Clock;
  /** Resolves with the length in ms. */
  say(parts: readonly VoicePart[]): Promise<number>;
  repetitions: number;
  /** Everything was said, and in words what came of it. */
  onOver(words: string): void;
}

const REPEAT = "*";
/** How long the second digit of an answer is waited for. */
const DIGIT_MS = 5_000;

/** Makes a conversation about a message. Keys may be pressed at any time, also while something is said. */
export function converse(
  { deliveryId, recipient }: DeliveryItem,
  script: Script,
  { clock, say, confirm, outcome, repetitions, onOver }: ConversationNeeds,
): Conversation {
  const options = recipient?.answers?.options ?? [];
  const answers = new Map(options.map((option, at) => [keyOf(at, options.length), option]));
  const digits = options.length > 9 ? 2 : 1;
  let words = "It was answered, and nobody pressed a key.";
  let rounds = 0;
  let pressed = "";
  let timer: Timer | null = null;
  let digitTimer: Timer | null = null;
  let isLeaving = false;
  let stopped = false;
  let heard: Heard = "person";

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
  const leave = (parts: readonly VoicePart[]): void => {
    isLeaving = true;
    speak(parts, () => onOver(words));
  };
  const nextRound = (): void => {
    if (++rounds < repetitions) speak(script.again, nextRound);
    else leave(script.goodbye);
  };
  const again = (): void => {
    rounds = 0;
    isLeaving = false;
    speak(script.again, nextRound);
  };

  const confirmWith = (option: string): void => {
    // Whoever pressed it knows it by the answer; nothing else is to be said meanwhile.
    turn++;
    timer?.cancel();
    const id = recipient?.id ?? "";
    confirm(id, option).then(
      (told) => {
        outcome(deliveryId, "confirmed");
        words = "It was answered by a key.";
        if (!stopped) leave(script.thanks(option, told));
      },
      () => {
        outcome(deliveryId, "heard");
        words = "A key was pressed when answers were taken no more.";
        if (!stopped) leave(script.late);
      },
    );
  };
  const understood = (): void => {
    words = "A key was pressed: the message was understood.";
    outcome(deliveryId, "heard");
    leave(script.thanks(null, null));
  };

  return {
    get words() {
      return words;
    },
    begin() {
      speak(script.opening, nextRound);
    },
    press(key) {
      if (stopped) return;
      digitTimer?.cancel();
      if (key === REPEAT) {
        pressed = "";
        return again();
      }
      if (options.length === 0) return understood();
      pressed += key;
      if (pressed.length < digits && key !== "#") {
        digitTimer = clock.after(DIGIT_MS, () => {
          pressed = "";
        });
        return;
      }
      const option = answers.get(pressed);
      pressed = "";
      if (option !== undefined) confirmWith(option);
      else speak(script.unknown, nextRound);
    },
    hear(now) {
      if (now === heard || stopped) return;
      heard = now;
      if (now !== "machine-ready" || isLeaving) return;
      words = "A machine seems to have answered; the message was spoken to it.";
      leave(script.recorded);
    },
    stop() {
      stopped = true;
      timer?.cancel();
      digitTimer?.cancel();
    },
  };
}
