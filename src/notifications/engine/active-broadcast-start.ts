import type { ActiveBroadcastState } from "./active-broadcast-state.ts";
import type { Delivery } from "./delivery.ts";
import { isListening, isReached, willListen } from "./delivery-state.ts";
import { canStart, MAX_START_WAIT_MS } from "./sync-start-policy.ts";

/** Maximum time after the start for which devices that listen elsewhere yield to those that hear nothing yet. */
const MAX_MOVE_DELAY_MS = 500;
/** Interval at which their state is polled. */
const LISTENER_POLL_MS = 50;

/** Checks whether a pending condition holds: the start of the audio, the hand-over, the end. */
export function checkProgress(live: ActiveBroadcastState): void {
  if (!live.allAdded) return;
  const { sound } = live;
  if (live.open === 0 && !live.hasPendingRows()) {
    sound?.stop();
    live.cancelTimers();
    live.handedOver.resolve();
    live.finished.resolve();
  } else if (
    sound &&
    sound.t0 === null &&
    !sound.over &&
    !live.held &&
    (live.startAwaitsNetwork || canStart(live.counts))
  )
    startAudio(live);
  if (live.undispatched === 0 && (!sound || sound.t0 !== null || live.startAwaitsNetwork)) live.handedOver.resolve();
}

/** Starts the audio at the latest when the start policy's maximum wait is over. */
export function scheduleLatestStart(live: ActiveBroadcastState): void {
  const passed = live.clock.monotonicMs() - live.activatedAtMonotonicMs;
  if (live.sound && !live.held) live.after(MAX_START_WAIT_MS[live.shared.class] - passed, () => startAudio(live));
}

/**
 * Starts the audio at `at` (epoch ms) or as soon as possible; without a network for any device as soon as one can be
 * reached.
 */
export function startAudio(live: ActiveBroadcastState, at?: number): void {
  const { sound } = live;
  live.held = false;
  live.plannedStart = at ?? live.plannedStart;
  scheduleMove(live);
  if (!sound || sound.t0 !== null || sound.over) return;
  live.startAwaitsNetwork = sound.durationMs !== null && isOutOfReach(live);
  if (live.startAwaitsNetwork) return;
  sound.start(live.plannedStart);
  live.onAudioStarted(sound.t0 as unknown as number);
  checkProgress(live);
}

/**
 * No one would hear it: deliveries with audio wait for the network, and no other has been reached. One that is being
 * asked may be, unless it waited for the network before.
 */
function isOutOfReach({ deliveries, streamsOpened, startAwaitsNetwork }: ActiveBroadcastState): boolean {
  if (streamsOpened > 0) return false;
  let waiting = 0;
  for (const delivery of deliveries) {
    if (delivery.audioMode === "nothing" || delivery.audioMode === "talk") continue;
    if (isReached(delivery)) return false;
    if (delivery.endedAt !== null) continue;
    const isAsked = delivery.dispatchState === "in-flight" || delivery.dispatchState === "queued";
    if (isAsked && !startAwaitsNetwork) return false;
    if (isAsked || delivery.awaitsNetwork) waiting++;
  }
  return waiting > 0;
}

/** Watches devices that hear it elsewhere until they are to move. */
export function watchListeners(live: ActiveBroadcastState): void {
  live.after(LISTENER_POLL_MS, () => {
    if (live.listeningElsewhere === null) return;
    watchListeners(live);
    requeueLostListeners(live);
    if (live.sound?.t0 !== null) moveWhenAllAnswered(live);
    checkProgress(live);
  });
}

/**
 * After the start, devices that listen elsewhere move to the message's own group once all others, which hear nothing
 * yet, have answered.
 */
function scheduleMove(live: ActiveBroadcastState): void {
  if (live.listeningElsewhere === null || live.alreadyListening.size === 0) return;
  requeueLostListeners(live);
  live.after(MAX_MOVE_DELAY_MS, () => moveToOwnGroup(live));
  moveWhenAllAnswered(live);
}

/** A device asked elsewhere joins with its answer there, and is asked here if that does not come. */
function requeueLostListeners(live: ActiveBroadcastState): void {
  const { dispatcher, alreadyListening } = live;
  const waiting = (live.listeningElsewhere ?? []).filter(({ endedAt }) => endedAt === null);
  live.listeningElsewhere = [];
  for (const delivery of waiting) {
    const other = alreadyListening.get(delivery.device ?? 0) as Delivery;
    if (isListening(other)) recordJoinState(live, delivery, "joined");
    if (willListen(other)) live.listeningElsewhere.push(delivery);
    else dispatcher.enqueue(delivery);
  }
}

function moveWhenAllAnswered(live: ActiveBroadcastState): void {
  const { allAdded, counts } = live;
  if (allAdded && counts.phonesJoined + counts.phonesFailed >= counts.phones) moveToOwnGroup(live);
}

function moveToOwnGroup(live: ActiveBroadcastState): void {
  const moved = live.listeningElsewhere ?? [];
  live.listeningElsewhere = null;
  for (const delivery of moved) if (delivery.endedAt === null) live.dispatcher.enqueue(delivery);
}

/** Records that a delivery was asked, or no longer needs to be. */
export function countDispatched(live: ActiveBroadcastState, delivery: Delivery): void {
  if (delivery.dispatched) return;
  delivery.dispatched = true;
  live.undispatched--;
}

/** A device with its own stream may start on its own. */
function countsForStart(audioMode: Delivery["audioMode"], synchronizedStart: boolean): boolean {
  return synchronizedStart || audioMode === "group";
}

/** Counts a new delivery for the start policy. */
export function countForStart({ counts, synchronizedStart }: ActiveBroadcastState, { audioMode }: Delivery): void {
  if (!countsForStart(audioMode, synchronizedStart)) return;
  if (audioMode === "group" || audioMode === "call") counts.phones++;
  if (audioMode === "own") counts.zones++;
}

/** Counts a device for the start policy, once per direction. */
export function recordJoinState(
  { counts, synchronizedStart }: ActiveBroadcastState,
  delivery: Delivery,
  state: "joined" | "failed",
): void {
  if (!countsForStart(delivery.audioMode, synchronizedStart)) return;
  if (delivery.joinState === state || delivery.joinState === "joined") return;
  if (delivery.audioMode === "group" || delivery.audioMode === "call") {
    if (delivery.joinState === "failed") counts.phonesFailed--;
    if (state === "joined") counts.phonesJoined++;
    else counts.phonesFailed++;
  } else if (delivery.audioMode === "own" && delivery.joinState === "no") counts.zonesReady++;
  delivery.joinState = state;
}
