import { SOUND_MISSED } from "../resources/broadcasts/sound-missed.ts";
import { learnAfterwards } from "./afterwards.ts";
import type { Delivery, EndLevel } from "./delivery.ts";
import { endDelivery, tellStop, usefulUntil, WITHOUT_WORDS } from "./live-ends.ts";
import { countState, look } from "./live-start.ts";
import type { LiveState } from "./live-state.ts";
import { isEndLevel, isListening, isReached, retryDelay, rise } from "./proof.ts";
import type { Outcome } from "./providers.ts";

/** A zone tells of its first packet, which leaves at the beginning: what is told within this time was not late. own choice */
const FIRST_PACKET_MS = 500;

/** What a channel says of a delivery; of one that has ended, only what it learned afterwards. */
export function takeOutcome(live: LiveState, delivery: Delivery, outcome: Outcome): void {
  // What came back was not taken, whichever time it was sent.
  if (outcome.details.returned) delivery.before = null;
  if (delivery.endedAt !== null) {
    if (learnAfterwards(delivery, outcome)) live.ledger.touch(delivery);
    return;
  }
  live.dispatcher.answered(delivery);
  if (isEndLevel(outcome.level)) failed(live, delivery, outcome);
  else proven(live, delivery, outcome.level, outcome);
  look(live);
}

/** Lets a delivery rest until it is tried again. */
export function restUntilRetry(live: LiveState, delivery: Delivery, delayMs: number): void {
  delivery.place = "rests";
  live.after(delayMs, () => {
    if (delivery.endedAt !== null || delivery.place !== "rests") return;
    delivery.retryAt = null;
    live.dispatcher.queue(delivery);
  });
}

function failed(live: LiveState, delivery: Delivery, { details, level, at }: Outcome): void {
  const { clock } = live;
  const words = details.reason ?? null;
  const moment = { now: clock.now(), notAfter: usefulUntil(live, delivery) };
  const mayRetry = level === "failed" && !live.closed && !(live.triesOnce && delivery.device !== null);
  const delayMs = mayRetry ? retryDelay(delivery, details, moment) : null;
  if (delayMs === null) {
    if (level === "failed") delivery.deviceShowed = "silence";
    endDelivery(live, delivery, level as EndLevel, words ?? WITHOUT_WORDS, at);
    return;
  }
  delivery.reason = words;
  delivery.retryAt = clock.now() + delayMs;
  countState(live, delivery, "failed");
  live.ledger.touch(delivery);
  restUntilRetry(live, delivery, delayMs);
}

function proven(
  live: LiveState,
  delivery: Delivery,
  level: Exclude<Outcome["level"], EndLevel>,
  { details, at, isLast }: Outcome,
): void {
  const { sound, soundWasOver } = live;
  const wasReached = isReached(delivery);
  if (rise(delivery, level, at)) {
    const missed = wasReached ? null : soundMissedBy(delivery, live);
    delivery.reason = details.reason ?? missed;
    if (missed !== null) delivery.late = true;
    else if (sound?.t0 && delivery.audible && !wasReached) {
      const hearsAll = !live.isTogether && delivery.hears !== "group";
      delivery.late = !hearsAll && at > sound.t0 + (delivery.hears === "own" ? FIRST_PACKET_MS : 0);
    }
    live.ledger.touch(delivery);
  }
  noteSaid(live, delivery, details);
  if (isLast) endDelivery(live, delivery, null, details.reason ?? null, at);
  if (isLast || level === "sent") return;
  // Whoever is called hears it to the end, or answers.
  if (delivery.hears === "talk") {
    if (level === "confirmed") endDelivery(live, delivery, null, null, at);
    return;
  }
  countState(live, delivery, "joined");
  // What answers only after the sound has to be silenced.
  if (isListening(delivery) && soundWasOver && !wasReached) tellStop(live, [delivery], "ended");
  // What shows text only has nothing more to prove, and after the sound this was the channel's last word.
  if (!delivery.audible || (isListening(delivery) && soundWasOver)) endDelivery(live, delivery, null, null, at);
}

/** Why a phone that has just answered hears nothing of the sound; null where it does, or there is none. */
function soundMissedBy({ hears, audible }: Delivery, { sound, soundWasOver }: LiveState): string | null {
  if (hears !== "group" || !sound || !(soundWasOver || sound.over)) return null;
  return audible ? SOUND_MISSED.joined : SOUND_MISSED.asked;
}

function noteSaid(live: LiveState, delivery: Delivery, { started, askedAgain, reason }: Outcome["details"]): void {
  if (started === undefined && askedAgain === undefined) return;
  delivery.said = { ...delivery.said, ...(started && { started }), ...(askedAgain !== undefined && { askedAgain }) };
  if (askedAgain !== undefined && reason !== undefined) delivery.reason = reason;
  live.ledger.touch(delivery);
}
