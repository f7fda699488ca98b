import type { LiveProgramme } from "../audio/live-programme.ts";
import type { Clock, Timer } from "../base/clock.ts";
import type { LivePageState } from "./broadcaster.ts";

/** Why a live page is over. */
export type Over = Extract<LivePageState, { state: "over" }>["reason"];

/** What one live page needs. */
export interface TalkNeeds {
  notificationId: string;
  clock: Clock;
  live: LiveProgramme;
  /** How long one may speak. */
  longestMs: number;
  tell(state: LivePageState): void;
  /** Ends the message, whose sound has not begun. */
  giveUp(): void;
}

/** A page whose devices take so long to be ready is given up. own choice: as long as an unsent page is of use */
const LONGEST_WAIT_MS = 15_000;
/** Who speaks sends sound also while silent: without any for so long the connection is gone, and devices are not held. own choice */
const LONGEST_SILENCE_MS = 4_000;
/** Beyond the moment of the last packet, so that it has surely left. */
const TAIL_MS = 40;

/** Somebody speaks: from the wait for devices to the last word. */
export class LiveTalk {
  readonly #needs: TalkNeeds;
  #begun = false;
  /** Why nothing more is taken; null while it is. */
  #ending: Over | null = null;
  #timer: Timer;
  /** When sound came last, or may begin to; monotonic. */
  #heardAt = 0;
  #watching: Timer | null = null;

  constructor(needs: TalkNeeds) {
    this.#needs = needs;
    this.#timer = needs.clock.after(LONGEST_WAIT_MS, () => this.end("unheard"));
  }

  /** Its first packet leaves at `at` (epoch ms). */
  begin(at: number): void {
    const { clock, live, longestMs, notificationId, tell } = this.#needs;
    const inMs = at - clock.now();
    this.#begun = true;
    live.begin(clock.monotonicMs() + inMs);
    if (this.#ending !== null) return;
    const overInMs = inMs + live.programme.durationMs;
    this.#expect(overInMs, () => this.end("limit"));
    this.#heardAt = clock.monotonicMs() + Math.max(0, overInMs - longestMs);
    this.#watching = clock.every(LONGEST_SILENCE_MS / 4, () => this.#watch());
    tell({ state: "speak", notificationId, inMs: Math.max(0, overInMs - longestMs) });
  }

  /** Takes what was spoken, 8 kHz, full scale 1; false when nobody will hear it. */
  take(samples: Float32Array): boolean {
    if (this.#ending !== null) return false;
    const now = this.#needs.clock.monotonicMs();
    this.#heardAt = Math.max(this.#heardAt, now);
    return this.#needs.live.take(samples, now);
  }

  /** Takes nothing more; what was said is sent to its end. */
  end(reason: Over): void {
    const { clock, live, giveUp } = this.#needs;
    if (this.#ending !== null) return;
    this.#ending = reason;
    this.#timer.cancel();
    this.#watching?.cancel();
    if (!this.#begun) giveUp();
    else this.#expect(live.restMs(clock.monotonicMs()) + TAIL_MS, () => live.close());
  }

  /** Nothing of it is heard any more. */
  close(reason: Over): void {
    const { live, notificationId, tell } = this.#needs;
    this.#timer.cancel();
    this.#watching?.cancel();
    this.#ending ??= reason;
    live.close();
    tell({ state: "over", notificationId, reason: this.#ending });
  }

  #watch(): void {
    if (this.#needs.clock.monotonicMs() - this.#heardAt >= LONGEST_SILENCE_MS) this.end("lost");
  }

  #expect(ms: number, then: () => void): void {
    this.#timer.cancel();
    this.#timer = this.#needs.clock.after(Math.max(0, ms), then);
  }
}
