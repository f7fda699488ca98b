import type { Delivery } from "./delivery.ts";
import type { LiveState } from "./live-state.ts";
import { mayStart, START_AFTER_MS } from "./start-rule.ts";

/** Looks whether what somebody waits for has come: the start of the sound, the hand-over, the end. */
export function look(live: LiveState): void {
  if (!live.complete) return;
  const { sound } = live;
  if (live.open === 0 && !live.moreToCome()) {
    sound?.stop();
    live.drop();
    live.handedOver.give();
    live.finished.give();
  } else if (sound && sound.t0 === null && !sound.over && !live.held && mayStart(live.counts)) start(live);
  if (live.unasked === 0 && (!sound || sound.t0 !== null)) live.handedOver.give();
}

/** Starts the sound at the latest when the start rule's patience is over. */
export function expectStart(live: LiveState): void {
  const passed = live.clock.monotonicMs() - live.began;
  if (live.sound && !live.held) live.after(START_AFTER_MS[live.shared.class] - passed, () => start(live));
}

/** Lets the sound begin, at `at` (epoch ms) or as soon as can be. */
export function start(live: LiveState, at?: number): void {
  const { sound } = live;
  live.held = false;
  for (const delivery of live.untilBegun.splice(0)) if (delivery.endedAt === null) live.dispatcher.queue(delivery);
  if (!sound || sound.t0 !== null || sound.over) return;
  sound.start(at);
  live.soundBegan(sound.t0 as unknown as number);
  look(live);
}

/** A delivery was asked, or nobody is to wait for it any more. */
export function countAsked(live: LiveState, delivery: Delivery): void {
  if (delivery.asked) return;
  delivery.asked = true;
  live.unasked--;
}

/** Counts a delivery that is new on air. */
export function countAdded({ counts }: LiveState, { hears }: Delivery): void {
  if (hears === "group" || hears === "call") counts.phones++;
  if (hears === "own") counts.zones++;
}

/** Counts a device for the start rule, once in each direction. */
export function countState({ counts }: LiveState, delivery: Delivery, state: "joined" | "failed"): void {
  if (delivery.joined === state || delivery.joined === "joined") return;
  if (delivery.hears === "group" || delivery.hears === "call") {
    if (delivery.joined === "failed") counts.phonesFailed--;
    if (state === "joined") counts.phonesJoined++;
    else counts.phonesFailed++;
  } else if (delivery.hears === "own" && delivery.joined === "no") counts.zonesReady++;
  delivery.joined = state;
}
