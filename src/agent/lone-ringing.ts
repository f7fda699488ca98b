import { ssrcOf } from "../audio/rtp.ts";
import type { Clock, Timer } from "../base/clock.ts";
import type { PlanKeeper } from "./plan-keeper.ts";
import type { RingBook } from "./ring-book.ts";
import type { PlannedRing } from "./ring-plan.ts";
import type { Stage } from "./stage.ts";

/** Rings by itself while the appliance is gone. */
export interface LoneRinging {
  /** The appliance has answered. */
  heard(): void;
  /** A stream of the appliance has begun to sound. */
  streamBegan(ssrc: number): void;
  stop(): void;
}

/** What ringing alone needs. */
export interface LoneRingingNeeds {
  clock: Clock;
  stage: Pick<Stage, "ring" | "isFreeFor">;
  keeper: Pick<PlanKeeper, "plan" | "sound">;
  book: Pick<RingBook, "add" | "isKnown">;
  /** Epoch ms of the appliance, as it is reckoned here; null when nothing is known of it. */
  now(): number | null;
  log(words: string): void;
}

const LOOK_MS = 250;
/** Two requests that are held for 8 s have not been answered. own choice */
const GONE_MS = 20_000;
/** Written down so long before it sounds. own choice */
const AHEAD_MS = 500;
/** A clock so far before the making of its plan was never set. own choice */
const CLOCK_DOUBT_MS = 60_000;
const NOT_SET = "the clock of this machine is not set: nothing rings without the appliance";
const ENDED = "the plan of rings has ended: nothing rings without the appliance";

/** Starts to look at what is due; the appliance counts as gone when it has not answered for 20 s, at first from now on. */
export function startLoneRinging({ clock, stage, keeper, book, now, log }: LoneRingingNeeds): LoneRinging {
  let heardAt = clock.monotonicMs();
  let told = "";
  let timer: Timer | null = null;
  /** One ring at a time is on its way to the stage. */
  let isBusy = false;
  /** Rings whose sound is not here. */
  const mute = new Set<string>();

  const say = (words: string): null => {
    if (words !== told) log(words);
    told = words;
    return null;
  };

  /** The most urgent ring that is to sound now; null when there is none, or the appliance is there. */
  const nextDue = (): PlannedRing | null => {
    const { plan } = keeper;
    const time = now();
    if (!plan || time === null || clock.monotonicMs() - heardAt < GONE_MS) return null;
    if (time < plan.madeAt - CLOCK_DOUBT_MS) return say(NOT_SET);
    if (time >= plan.until) return say(ENDED);
    const due = plan.rings.filter(
      ({ ringId, at, notAfter }) =>
        at - AHEAD_MS <= time && time <= notAfter && !mute.has(ringId) && !book.isKnown(ringId),
    );
    return due.sort((a, b) => a.priority - b.priority || a.at - b.at)[0] ?? null;
  };

  const notWritten = (error: unknown): void =>
    log(`what sounded could not be written down: ${error instanceof Error ? error.message : String(error)}`);

  const begin = ({ ringId, at, volume, delayMs, priority }: PlannedRing, payload: Uint8Array): void => {
    isBusy = false;
    const onFailed = (words: string): void => {
      log(`the ring of ${new Date(at).toISOString()} did not sound: ${words}`);
      book.add({ ringId, at, how: "failed" }).catch(notWritten);
    };
    // Something more urgent has come meanwhile.
    if (!stage.isFreeFor(priority)) {
      onFailed("the speaker plays something as urgent");
      return;
    }
    log(`rings without the appliance: ${new Date(at).toISOString()}`);
    stage.ring({ ssrc: ssrcOf(ringId), volume, delayMs, priority, payload, onFailed });
  };

  const ringAlone = async (ring: PlannedRing): Promise<void> => {
    const { ringId, at, sound } = ring;
    const payload = await keeper.sound(sound.sha256);
    if (!payload) {
      mute.add(ringId);
      isBusy = false;
      log(`the ring of ${new Date(at).toISOString()} did not sound: its sound is not here`);
      return;
    }
    // On the disk before it sounds: neither a crash nor the appliance, come back, may double it.
    await book.add({ ringId, at, how: "alone" });
    timer = clock.after(Math.max(0, at - (now() ?? at)), () => begin(ring, payload));
  };

  const look = (): void => {
    const ring = isBusy ? null : nextDue();
    // What waits for something as urgent has until its last moment.
    if (!ring || !stage.isFreeFor(ring.priority)) return;
    isBusy = true;
    ringAlone(ring).catch((error) => {
      isBusy = false;
      notWritten(error);
    });
  };

  const looking = clock.every(LOOK_MS, look);
  return {
    heard() {
      heardAt = clock.monotonicMs();
      told = "";
    },
    streamBegan(ssrc) {
      const ring = keeper.plan?.rings.find(({ ringId }) => ssrcOf(ringId) === ssrc);
      if (ring && !book.isKnown(ring.ringId))
        book.add({ ringId: ring.ringId, at: ring.at, how: "stream" }).catch(notWritten);
    },
    stop() {
      looking.cancel();
      timer?.cancel();
    },
  };
}
