import type { Clock, DeliveryItem, PluginContext, Timer, VoicePart } from "#plugin-api";
import type { CallProgressResult } from "./answering-machine-detection.ts";
import { answerKey, type CallScript } from "./call-script.ts";
import { sentence } from "./sentences.ts";

/** The dialogue after a call is answered. */
export interface CallConversation {
  /** Starts from the beginning; may be called again when the media target changes. */
  start(): void;
  /** Says nothing more until the next start: the callee holds the call. */
  pause(): void;
  pressKey(key: string): void;
  /** Handles a result of answering machine detection. */
  handleCallProgress(detected: CallProgressResult): void;
  /** Result so far, as text for people. */
  readonly summary: string;
  stop(): void;
}

export interface CallConversationDeps extends Pick<PluginContext, "confirm" | "outcome"> {
  clock: Clock;
  /** Resolves with the length in ms. */
  say(parts: readonly VoicePart[]): Promise<number>;
  repetitions: number;
  /** The dialogue is over, with its result as text for people. */
  onOver(summary: string): void;
}

const REPEAT_KEY = "*";
/** Timeout of the second digit of a response. */
const DIGIT_TIMEOUT_MS = 5_000;

/** Creates the dialogue of a message. Keys are accepted at any time, also during speech. */
export function createCallConversation(
  { deliveryId, recipient }: DeliveryItem,
  script: CallScript,
  { clock, say, confirm, outcome, repetitions, onOver }: CallConversationDeps,
): CallConversation {
  const options = recipient?.answers?.options ?? [];
  const answers = new Map(options.map((option, at) => [answerKey(at, options.length), option]));
  const digits = options.length > 9 ? 2 : 1;
  let summary = sentence("no-key");
  let rounds = 0;
  let pressed = "";
  let timer: Timer | null = null;
  let digitTimer: Timer | null = null;
  let isLeaving = false;
  let stopped = false;
  let detected: CallProgressResult = "person";

  /** Later speech replaces earlier speech. */
  let generation = 0;
  const speak = (parts: readonly VoicePart[], then: () => void): void => {
    const current = ++generation;
    timer?.cancel();
    const failed = (error: Error): void => {
      if (current === generation && !stopped)
        onOver(sentence("speech-failed-after", { summary, error: error.message }));
    };
    say(parts).then((ms) => {
      if (current === generation && !stopped) timer = clock.after(ms, then);
    }, failed);
  };
  const sayAndEnd = (parts: readonly VoicePart[]): void => {
    isLeaving = true;
    speak(parts, () => onOver(summary));
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
    // The response announcement replaces the current speech.
    generation++;
    timer?.cancel();
    const id = recipient?.id ?? "";
    confirm(id, option).then(
      (told) => {
        outcome(deliveryId, "confirmed");
        summary = sentence("answered-by-key");
        if (!stopped) sayAndEnd(script.thanks(option, told));
      },
      () => {
        outcome(deliveryId, "heard");
        summary = sentence("key-too-late");
        if (!stopped) sayAndEnd(script.late);
      },
    );
  };
  const acknowledge = (): void => {
    summary = sentence("acknowledged");
    outcome(deliveryId, "heard");
    sayAndEnd(script.thanks(null, null));
  };

  return {
    get summary() {
      return summary;
    },
    start() {
      speak(script.opening, nextRound);
    },
    pause() {
      generation++;
      timer?.cancel();
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
      if (now === detected || stopped) return;
      detected = now;
      if (now !== "machine-ready" || isLeaving) return;
      summary = sentence("machine");
      sayAndEnd(script.voicemail);
    },
    stop() {
      stopped = true;
      timer?.cancel();
      digitTimer?.cancel();
    },
  };
}
