import type { Clock, Timer } from "../../lib/clock.ts";
import type { LiveAudio } from "../../media/live-audio.ts";
import type { LivePageState } from "../notification-service.ts";

/** Why a live page is over. */
export type LivePageEndReason = Extract<LivePageState, { state: "over" }>["reason"];

/** What one live page needs. */
export interface LivePageSessionDeps {
  notificationId: string;
  clock: Clock;
  live: LiveAudio;
  /** How long one may speak. */
  longestMs: number;
  onState(state: LivePageState): void;
  /** Ends the message, whose sound has not begun. */
  giveUp(): void;
}

/** A page whose devices take so long to be ready is given up. own choice: as long as an unsent page is of use */
const START_TIMEOUT_MS = 15_000;
/** Who speaks sends sound also while silent: without any for so long the connection is gone, and devices are not held. own choice */
const SILENCE_TIMEOUT_MS = 4_000;
/** Beyond the moment of the last packet, so that it has surely left. */
const TAIL_MS = 40;

/** Somebody speaks: from the wait for devices to the last word. */
export class LivePageSession {
  readonly #needs: LivePageSessionDeps;
  #begun = false;
  /** Why nothing more is taken; null while it is. */
  #ending: LivePageEndReason | null = null;
  #timer: Timer;
  /** When sound came last, or may begin to; monotonic. */
  #heardAt = 0;
  #watching: Timer | null = null;

  constructor(needs: LivePageSessionDeps) {
    this.#needs = needs;
    this.#timer = needs.clock.after(START_TIMEOUT_MS, () => this.end("unheard"));
  }

  /** Its first packet leaves at `at` (epoch ms). */
  start(at: number): void {
    const { clock, live, longestMs, notificationId, onState } = this.#needs;
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

  /** Takes what was spoken, 8 kHz, full scale 1; false when nobody will hear it. */
  pushSamples(samples: Float32Array): boolean {
    if (this.#ending !== null) return false;
    const now = this.#needs.clock.monotonicMs();
    this.#heardAt = Math.max(this.#heardAt, now);
    return this.#needs.live.writeVoice(samples, now);
  }

  /** Takes nothing more; what was said is sent to its end. */
  end(reason: LivePageEndReason): void {
    const { clock, live, giveUp } = this.#needs;
    if (this.#ending !== null) return;
    this.#ending = reason;
    this.#timer.cancel();
    this.#watching?.cancel();
    if (!this.#begun) giveUp();
    else this.#expect(live.remainingMs(clock.monotonicMs()) + TAIL_MS, () => live.close());
  }

  /** Nothing of it is heard any more. */
  close(reason: LivePageEndReason): void {
    const { live, notificationId, onState } = this.#needs;
    this.#timer.cancel();
    this.#watching?.cancel();
    this.#ending ??= reason;
    live.close();
    onState({ state: "over", notificationId, reason: this.#ending });
  }

  #watch(): void {
    if (this.#needs.clock.monotonicMs() - this.#heardAt >= SILENCE_TIMEOUT_MS) this.end("lost");
  }

  #expect(ms: number, then: () => void): void {
    this.#timer.cancel();
    this.#timer = this.#needs.clock.after(Math.max(0, ms), then);
  }
}
