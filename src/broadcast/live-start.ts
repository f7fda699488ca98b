import type { Delivery } from "./delivery.ts";
import type { LiveState } from "./live-state.ts";
import { isListening, willListen } from "./proof.ts";
import { mayStart, START_AFTER_MS } from "./start-rule.ts";

/** Longest time from the beginning in which those who listen elsewhere leave the way to those who hear nothing. own choice */
const MOVED_AFTER_MS = 500;
/** How often is looked whether they still listen there. own choice */
const FOLLOWED_EVERY_MS = 50;

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
  moveListeners(live);
  if (!sound || sound.t0 !== null || sound.over) return;
  sound.start(at);
  live.soundBegan(sound.t0 as unknown as number);
  look(live);
}

/** Looks after those who hear it elsewhere, until they are to move. */
export function followListeners(live: LiveState): void {
  live.after(FOLLOWED_EVERY_MS, () => {
    if (live.elsewhere === null) return;
    followListeners(live);
    askThoseLost(live);
    if (live.sound?.t0 !== null) moveOnceAnswered(live);
    look(live);
  });
}

/** From the beginning on, those who listen elsewhere go to its own group once all others have answered, which hear nothing yet. */
function moveListeners(live: LiveState): void {
  if (live.elsewhere === null || live.listenAlready.size === 0) return;
  askThoseLost(live);
  live.after(MOVED_AFTER_MS, () => move(live));
  moveOnceAnswered(live);
}

/** Who was asked elsewhere joins with the answer there, and is asked here where that does not come. */
function askThoseLost(live: LiveState): void {
  const { dispatcher, listenAlready } = live;
  const waiting = (live.elsewhere ?? []).filter(({ endedAt }) => endedAt === null);
  live.elsewhere = [];
  for (const delivery of waiting) {
    const other = listenAlready.get(delivery.device ?? 0) as Delivery;
    if (isListening(other)) countState(live, delivery, "joined");
    if (willListen(other)) live.elsewhere.push(delivery);
    else dispatcher.queue(delivery);
  }
}

function moveOnceAnswered(live: LiveState): void {
  const { complete, counts } = live;
  if (complete && counts.phonesJoined + counts.phonesFailed >= counts.phones) move(live);
}

function move(live: LiveState): void {
  const moved = live.elsewhere ?? [];
  live.elsewhere = null;
  for (const delivery of moved) if (delivery.endedAt === null) live.dispatcher.queue(delivery);
}

/** A delivery was asked, or nobody is to wait for it any more. */
export function countAsked(live: LiveState, delivery: Delivery): void {
  if (delivery.asked) return;
  delivery.asked = true;
  live.unasked--;
}

/** What has a stream of its own may begin by itself. */
function isWaitedFor(hears: Delivery["hears"], isTogether: boolean): boolean {
  return isTogether || hears === "group";
}

/** Counts a delivery that is new on air. */
export function countAdded({ counts, isTogether }: LiveState, { hears }: Delivery): void {
  if (!isWaitedFor(hears, isTogether)) return;
  if (hears === "group" || hears === "call") counts.phones++;
  if (hears === "own") counts.zones++;
}

/** Counts a device for the start rule, once in each direction. */
export function countState({ counts, isTogether }: LiveState, delivery: Delivery, state: "joined" | "failed"): void {
  if (!isWaitedFor(delivery.hears, isTogether)) return;
  if (delivery.joined === state || delivery.joined === "joined") return;
  if (delivery.hears === "group" || delivery.hears === "call") {
    if (delivery.joined === "failed") counts.phonesFailed--;
    if (state === "joined") counts.phonesJoined++;
    else counts.phonesFailed++;
  } else if (delivery.hears === "own" && delivery.joined === "no") counts.zonesReady++;
  delivery.joined = state;
}
