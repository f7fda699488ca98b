import type { StopRequest } from "../plugin-api/index.ts";
import { callOff } from "./call-off.ts";
import type { Delivery, EndLevel } from "./delivery.ts";
import { countAsked, countState, look } from "./live-start.ts";
import { type LiveState, livingOf } from "./live-state.ts";
import { conclude, isListening, isReached } from "./proof.ts";

/** Longest wait after the last packet for phones' last words on what they played. own choice */
const PROOF_MS = 10_000;

/** About 1 ms of the event loop. */
const ENDS_PER_TURN = 250;

/** Timers can't count further than 24 days. */
const LONGEST_TIMER_MS = 86_400_000;

const HALT_WORDS = {
  aborted: "Somebody ended the message.",
  expired: "The message has expired.",
  interrupted: "The appliance was not running and came back too late.",
};

/** Stands where a channel does not say why something failed. */
export const WITHOUT_WORDS = "The channel gave no reason.";

/** Ends a delivery; what follows from it is for `look`. One that has ended stays as it is. */
export function endDelivery(
  live: LiveState,
  delivery: Delivery,
  level: EndLevel | null,
  reason: string | null,
  at: number,
): void {
  if (delivery.endedAt !== null) return;
  conclude(delivery, level, reason, at);
  if (!isReached(delivery)) countState(live, delivery, "failed");
  countAsked(live, delivery);
  live.dispatcher.released(delivery);
  live.ledger.touch(delivery);
  live.open--;
}

/** Lets channels silence devices. */
export function tellStop(live: LiveState, stopped: readonly Delivery[], reason: StopRequest["reason"]): void {
  callOff(live.providers, stopped, reason);
}

/** Epoch ms after which a delivery is of no use: calling many people one after another takes its time. */
export function usefulUntil({ shared, callsUntil }: LiveState, { hears }: Delivery): number {
  return hears === "talk" ? callsUntil : shared.notAfter;
}

/** Ends what has not been reached when it is too late for asking. */
export function expectExpiry(live: LiveState): void {
  const { clock, shared, callsUntil, endsAt } = live;
  const restMs = endsAt - clock.monotonicMs();
  const unheard = livingOf(live).filter((delivery) => !isReached(delivery));
  const calls = unheard.some(({ hears }) => hears === "talk");
  const restOfCallsMs = calls ? restMs + callsUntil - shared.notAfter : restMs;
  if (restOfCallsMs <= 0) tooLate(live, unheard);
  else {
    if (restMs <= 0)
      giveUp(
        live,
        unheard.filter(({ hears }) => hears !== "talk"),
      );
    live.after(Math.min(restMs > 0 ? restMs : restOfCallsMs, LONGEST_TIMER_MS), () => expectExpiry(live));
  }
}

/** Ends what waits for its device, or for its channel to take it; how many there were. */
export function giveUpWaiting(live: LiveState, words: string): number {
  const waiting = livingOf(live).filter(
    ({ device, place, reached }) => device !== null && !reached && (place === "held" || place === "queued"),
  );
  endAll(live, waiting, "expired", () => words);
  return waiting.length;
}

/**
 * The programme has been sent: phones have some time for their last words. Those that joined are free for what comes next,
 * which is told to them after the stop; one that has not answered yet may still join.
 */
export function endWithSound(live: LiveState): void {
  live.soundWasOver = true;
  const all = livingOf(live).filter(({ hears }) => hears !== "talk");
  const listening = all.filter(isListening);
  tellStop(live, listening, "ended");
  for (const delivery of listening) live.dispatcher.freed(delivery);
  const proven = all.filter((delivery) => delivery.playingAt !== null || delivery.hears === "own");
  endAll(live, proven, "expired", tooLateToHear);
  live.after(PROOF_MS, () => {
    // What has not been asked yet still gets the text.
    const rest = livingOf(live).filter(({ hears }) => hears !== "talk");
    const silent = rest.filter((delivery) => isReached(delivery) || (delivery.audible && wasGiven(delivery)));
    const unheard = silent.filter((delivery) => !isReached(delivery));
    tellStop(live, unheard, "expired");
    endAll(live, silent, "expired", tooLateToHear);
  });
}

/** Ends the message before its time; devices are silenced. */
export function halt(live: LiveState, reason: keyof typeof HALT_WORDS): void {
  live.closed = true;
  live.sound?.stop();
  // Texts stay on displays after the delivery has ended.
  const given = [...live.deliveries].filter((delivery) => wasGiven(delivery) || delivery.acceptedAt !== null);
  tellStop(live, given, reason === "interrupted" ? "expired" : reason);
  endAll(live, livingOf(live), "expired", () => HALT_WORDS[reason]);
}

function tooLate(live: LiveState, lost: readonly Delivery[]): void {
  live.closed = true;
  giveUp(live, lost);
}

function giveUp(live: LiveState, lost: readonly Delivery[]): void {
  const unanswered = lost.filter(wasGiven);
  for (const delivery of unanswered) delivery.deviceShowed = "silence";
  tellStop(live, unanswered, "expired");
  endAll(live, lost, "expired", lateWords);
}

/** Thousands at once would hold up everything else: some are ended per turn. */
function endAll(
  live: LiveState,
  which: readonly Delivery[],
  level: EndLevel,
  reason: (delivery: Delivery) => string | null,
): void {
  const { clock } = live;
  let done = 0;
  const endSome = (): void => {
    const some = which.slice(done, done + ENDS_PER_TURN);
    for (const delivery of some) endDelivery(live, delivery, level, reason(delivery), clock.now());
    done += some.length;
    if (done < which.length) clock.soon(endSome);
    else look(live);
  };
  endSome();
}

function tooLateToHear(delivery: Delivery): string | null {
  return isReached(delivery) ? null : "The sound was over before it answered.";
}

function wasGiven(delivery: Delivery): boolean {
  return delivery.place === "out" || delivery.place === "followed";
}

function lateWords(delivery: Delivery): string {
  if (delivery.place === "held") return "The device was busy with another message until it was too late.";
  if (delivery.place === "queued") return `The channel ${delivery.provider} did not take it in time.`;
  if (delivery.place === "rests") return delivery.reason ?? WITHOUT_WORDS;
  return delivery.sentAt === null ? "No answer in time." : "It was taken, but nothing more was heard of it in time.";
}
