import { type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import type { StopRequest } from "../../plugin-api/index.ts";
import { MISSED_AUDIO_REASONS } from "../../resources/notifications/missed-audio.ts";
import { checkProgress, countDispatched, recordJoinState } from "./active-broadcast-start.ts";
import { type ActiveBroadcastState, openDeliveries } from "./active-broadcast-state.ts";
import type { Delivery, EndLevel } from "./delivery.ts";
import { finish, isListening, isReached } from "./delivery-state.ts";
import { stopDeliveries } from "./stop-deliveries.ts";

/** Maximum wait after the last packet for phones' final reports on what they played. */
const LAST_REPORT_TIMEOUT_MS = 10_000;

/**
 * How long the channel of an expired delivery may say what became of its attempt: it alone knows
 * whether it has contacted the device at all.
 */
const EXPIRY_REPORT_MS = 250;

/** About 1 ms of the event loop. */
const MAX_ENDS_PER_TURN = 250;

/** Maximum of a timer: 24 days. */
const MAX_TIMER_MS = 86_400_000;

const HALT_REASONS = {
  aborted: sentence("delivery.aborted"),
  expired: sentence("delivery.expired"),
  interrupted: sentence("delivery.interrupted"),
};

/** Default reason when a channel does not say why something failed. */
export const NO_REASON_GIVEN = sentence("delivery.no-reason");

/** Ends a delivery; `checkProgress` draws the conclusions. Has no effect on an ended one. */
export function endDelivery(
  live: ActiveBroadcastState,
  delivery: Delivery,
  level: EndLevel | null,
  reason: Sentence | null,
  at: number,
): void {
  if (delivery.endedAt !== null) return;
  finish(delivery, level, reason, at);
  if (!isReached(delivery)) recordJoinState(live, delivery, "failed");
  countDispatched(live, delivery);
  live.dispatcher.finish(delivery);
  live.ledger.markDirty(delivery);
  live.open--;
}

/** Has channels silence devices. */
export function stopOnDevices(
  live: ActiveBroadcastState,
  stopped: readonly Delivery[],
  reason: StopRequest["reason"],
): void {
  stopDeliveries(live.providers, stopped, reason);
}

/** Deadline of a delivery, epoch ms: calling many people one after another takes longer. */
export function deliveryDeadline({ shared, callsUntil }: ActiveBroadcastState, { audioMode }: Delivery): number {
  return audioMode === "talk" ? callsUntil : shared.notAfter;
}

/** Expires what has not been reached at the deadline. */
export function scheduleExpiry(live: ActiveBroadcastState): void {
  const { clock, shared, callsUntil, endsAtMonotonicMs } = live;
  const restMs = endsAtMonotonicMs - clock.monotonicMs();
  const unheard = openDeliveries(live).filter((delivery) => !isReached(delivery));
  const calls = unheard.some(({ audioMode }) => audioMode === "talk");
  const restOfCallsMs = calls ? restMs + callsUntil - shared.notAfter : restMs;
  if (restOfCallsMs <= 0) closeExpired(live, unheard);
  else {
    if (restMs <= 0)
      expireUnreached(
        live,
        unheard.filter(({ audioMode }) => audioMode !== "talk"),
      );
    live.after(Math.min(restMs > 0 ? restMs : restOfCallsMs, MAX_TIMER_MS), () => scheduleExpiry(live));
  }
}

/** Ends deliveries that wait for their device or channel; returns their number. */
export function abandonWaiting(live: ActiveBroadcastState, reason: Sentence): number {
  const waiting = openDeliveries(live).filter(
    ({ device, dispatchState, reached }) =>
      device !== null && !reached && (dispatchState === "waiting-for-device" || dispatchState === "queued"),
  );
  endAll(live, waiting, "expired", () => reason);
  return waiting.length;
}

/**
 * The audio has been sent: phones get some time for their final reports. Devices that joined are free for the next
 * message, which starts after the stop; one that has not answered yet may still join.
 */
export function endAfterAudio(live: ActiveBroadcastState): void {
  live.audioEnded = true;
  const all = openDeliveries(live).filter(({ audioMode }) => audioMode !== "talk");
  const listening = all.filter(isListening);
  for (const delivery of listening) {
    if (!hasHeardTooLittle(live, delivery, live.clock.now())) continue;
    delivery.reason = MISSED_AUDIO_REASONS.partly;
    delivery.textOnly = true;
    delivery.late = true;
    live.ledger.markDirty(delivery);
  }
  stopOnDevices(live, listening, "ended");
  for (const delivery of listening) live.dispatcher.releaseDevice(delivery);
  const lost = all.filter(({ awaitsNetwork, audioMode }) => awaitsNetwork && audioMode !== "group");
  endAll(live, lost, "failed", ({ reason }) => reason);
  const proven = all.filter((delivery) => delivery.playingAt !== null || delivery.audioMode === "own");
  endAll(live, proven, "expired", missedAudioReason);
  live.after(LAST_REPORT_TIMEOUT_MS, () => {
    // Devices not asked yet still get the text.
    const rest = openDeliveries(live).filter(({ audioMode }) => audioMode !== "talk");
    const unheard = rest.filter((delivery) => !isReached(delivery) && delivery.audible && isWithProvider(delivery));
    endAll(live, rest.filter(isReached), "expired", missedAudioReason);
    expireWithProvider(live, unheard, missedAudioReason);
    if (live.catchesUp) endRetries(live);
  });
}

/**
 * The next attempt begins once this one has ended. Phones that only show the text do not wait for it until the last dead
 * device has been tried again; the next attempts try that as well.
 */
function endRetries(live: ActiveBroadcastState): void {
  if (![...live.deliveries].some(({ audible, textOnly }) => audible && textOnly)) return;
  const retried = openDeliveries(live).filter(
    ({ audioMode, dispatchState }) => audioMode !== "talk" && dispatchState === "backing-off",
  );
  endAll(live, retried, "failed", ({ reason }) => reason ?? NO_REASON_GIVEN);
}

/**
 * A device that listens would have heard less than half of one pass of an emergency if the audio ended at `endsAt`, epoch
 * ms. False for a routine message or a bell, which is not repeated because there are many phones.
 */
export function hasHeardTooLittle(
  { shared, singlePassMs }: ActiveBroadcastState,
  { acceptedAt }: Delivery,
  endsAt: number,
): boolean {
  if (shared.class !== "emergency" || singlePassMs === null) return false;
  return (acceptedAt ?? 0) > endsAt - singlePassMs / 2;
}

/** Ends the message early; devices are silenced. */
export function halt(live: ActiveBroadcastState, reason: keyof typeof HALT_REASONS): void {
  live.closed = true;
  live.sound?.stop();
  // Displays keep texts after the delivery has ended.
  const given = [...live.deliveries].filter((delivery) => isWithProvider(delivery) || delivery.acceptedAt !== null);
  stopOnDevices(live, given, reason === "interrupted" ? "expired" : reason);
  endAll(live, openDeliveries(live), "expired", () => HALT_REASONS[reason]);
}

function closeExpired(live: ActiveBroadcastState, lost: readonly Delivery[]): void {
  live.closed = true;
  expireUnreached(live, lost);
}

function expireUnreached(live: ActiveBroadcastState, lost: readonly Delivery[]): void {
  const asked = lost.filter(isWithProvider);
  endAll(
    live,
    lost.filter((delivery) => !isWithProvider(delivery)),
    "expired",
    expiryReason,
  );
  expireWithProvider(live, asked, expiryReason, () => {
    for (const delivery of asked) if (delivery.endedAt === null) delivery.deviceEvidence = "silence";
  });
}

/** Takes deliveries back from their channels, which may say what became of them, and ends the others with `reason`. */
function expireWithProvider(
  live: ActiveBroadcastState,
  asked: readonly Delivery[],
  reason: (delivery: Delivery) => Sentence | null,
  onSilent = (): void => {},
): void {
  if (asked.length === 0) return;
  for (const delivery of asked) delivery.expiring = true;
  stopOnDevices(live, asked, "expired");
  live.after(EXPIRY_REPORT_MS, () => {
    onSilent();
    endAll(live, asked, "expired", reason);
  });
}

/** Ends a batch per turn: thousands at once would block the event loop. */
function endAll(
  live: ActiveBroadcastState,
  which: readonly Delivery[],
  level: EndLevel,
  reason: (delivery: Delivery) => Sentence | null,
): void {
  const { clock } = live;
  let done = 0;
  const endSome = (): void => {
    const some = which.slice(done, done + MAX_ENDS_PER_TURN);
    for (const delivery of some) endDelivery(live, delivery, level, reason(delivery), clock.now());
    done += some.length;
    if (done < which.length) clock.defer(endSome);
    else checkProgress(live);
  };
  endSome();
}

function missedAudioReason(delivery: Delivery): Sentence | null {
  return isReached(delivery) ? null : sentence("delivery.audio-over");
}

function isWithProvider(delivery: Delivery): boolean {
  return delivery.dispatchState === "in-flight" || delivery.dispatchState === "monitoring";
}

function expiryReason(delivery: Delivery): Sentence {
  if (delivery.dispatchState === "waiting-for-device") return sentence("delivery.busy-until-deadline");
  if (delivery.dispatchState === "queued") return sentence("delivery.channel-late", { channel: delivery.provider });
  if (delivery.dispatchState === "backing-off") return delivery.reason ?? NO_REASON_GIVEN;
  return delivery.sentAt === null ? sentence("delivery.no-answer") : sentence("delivery.accepted-only");
}
