import type { Clock, Timer } from "../../lib/clock.ts";
import type { LiveAudio } from "../../media/live-audio.ts";
import type { LivePageState } from "../notification-service.ts";

/** Why a live page is over. */
export type LivePageEndReason = Extract<LivePageState, { state: "over" }>["reason"];

export interface LivePageSessionDeps {
  notificationId: string;
  clock: Clock;
  live: LiveAudio;
  /** Maximum length. */
  longestMs: number;
  onState(state: LivePageState): void;
  /** Ends the message before its audio has started. */
  giveUp(): void;
}

/** A live page whose devices take longer to be ready is dropped: the deadline of an unsent live page. */
const START_TIMEOUT_MS = 15_000;
/**
 * The client sends audio also during silence: without any for this long the connection is lost, and devices are
 * released.
 */
const SILENCE_TIMEOUT_MS = 4_000;
/** Added to the time of the last packet, so that it has left. */
const TAIL_MS = 40;

/** A live page from the wait for devices to the last word. */
export class LivePageSession {
  readonly #deps: LivePageSessionDeps;
  #begun = false;
  /** Why no more speech is accepted; null while it is. */
  #ending: LivePageEndReason | null = null;
  #timer: Timer;
  /** Time of the last audio, or from which it may arrive; monotonic. */
  #heardAt = 0;
  #watching: Timer | null = null;

  constructor(deps: LivePageSessionDeps) {
    this.#deps = deps;
    this.#timer = deps.clock.after(START_TIMEOUT_MS, () => this.end("unheard"));
  }

  /** The first packet leaves at `at` (epoch ms). */
  start(at: number): void {
    const { clock, live, longestMs, notificationId, onState } = this.#deps;
    const inMs = at - clock.now();
    this.#begun = true;
    live.start(clock.monotonicMs() + inMs);
    if (this.#ending !== null) return;
    const overInMs = inMs + live.rendered.durationMs;
    this.#expect(overInMs, () => this.end("limit"));
    this.#heardAt = clock.monotonicMs() + Math.max(0, overInMs - longestMs);
    this.#watching = clock.every(SILENCE_TIMEOUT_MS / 4, () => this.#watch());
    onState({ state: "speak", notificationId, inMs: Math.max(0, overInMs - longestMs) });
  }

  /** Adds speech, 8 kHz, full scale 1; false when it will not be heard. */
  pushSamples(samples: Float32Array): boolean {
    if (this.#ending !== null) return false;
    const now = this.#deps.clock.monotonicMs();
    this.#heardAt = Math.max(this.#heardAt, now);
    return this.#deps.live.writeVoice(samples, now);
  }

  /** Accepts no more speech; the rest is sent to its end. */
  end(reason: LivePageEndReason): void {
    const { clock, live, giveUp } = this.#deps;
    if (this.#ending !== null) return;
    this.#ending = reason;
    this.#timer.cancel();
    this.#watching?.cancel();
    if (!this.#begun) giveUp();
    else this.#expect(live.remainingMs(clock.monotonicMs()) + TAIL_MS, () => live.close());
  }

  /** Ends the audio at once. */
  close(reason: LivePageEndReason): void {
    const { live, notificationId, onState } = this.#deps;
    this.#timer.cancel();
    this.#watching?.cancel();
    this.#ending ??= reason;
    live.close();
    onState({ state: "over", notificationId, reason: this.#ending });
  }

  #watch(): void {
    if (this.#deps.clock.monotonicMs() - this.#heardAt >= SILENCE_TIMEOUT_MS) this.end("lost");
  }

  #expect(ms: number, then: () => void): void {
    this.#timer.cancel();
    this.#timer = this.#deps.clock.after(Math.max(0, ms), then);
  }
}
