import { asGiven, type Sentence } from "../../lib/sentences/sentences.ts";
import { isMissedAudio, MISSED_AUDIO_REASONS } from "../../resources/notifications/missed-audio.ts";
import { deliveryDeadline, endDelivery, NO_REASON_GIVEN, stopOnDevices } from "./active-broadcast-end.ts";
import { checkProgress, recordJoinState } from "./active-broadcast-start.ts";
import type { ActiveBroadcastState } from "./active-broadcast-state.ts";
import type { Delivery, EndLevel } from "./delivery.ts";
import { type DeliveryOutcome, reasonOf } from "./delivery-providers.ts";
import { isFailureLevel, isListening, isReached, promote, retryDelayMs } from "./delivery-state.ts";
import { applyLateOutcome } from "./late-outcomes.ts";

/** A zone reports its first packet, which is sent at the start: a report within this time is not late. */
const FIRST_PACKET_MS = 500;

/** Applies an outcome reported by a channel to a delivery; to an ended one only late outcomes. */
export function handleDeliveryOutcome(live: ActiveBroadcastState, delivery: Delivery, outcome: DeliveryOutcome): void {
  // A returned message was not delivered, whichever attempt it belongs to.
  if (outcome.details.returned) delivery.previousProof = null;
  if (delivery.endedAt !== null) {
    if (applyLateOutcome(delivery, outcome)) live.ledger.markDirty(delivery);
    recordReport(live, delivery, outcome.details);
    return;
  }
  live.dispatcher.releaseWindowSlot(delivery);
  if (isFailureLevel(outcome.level)) handleFailure(live, delivery, outcome);
  else handleProgress(live, delivery, outcome.level, outcome);
  checkProgress(live);
}

/** Schedules the next attempt of a delivery. */
export function scheduleRetry(live: ActiveBroadcastState, delivery: Delivery, delayMs: number): void {
  delivery.dispatchState = "backing-off";
  live.after(delayMs, () => {
    if (delivery.endedAt !== null || delivery.dispatchState !== "backing-off") return;
    enqueueAgain(live, delivery);
  });
}

/** The network has changed: what waited for it is tried at once. */
export function retryAfterNetworkChange(live: ActiveBroadcastState): void {
  for (const delivery of live.deliveries)
    if (delivery.awaitsNetwork && delivery.endedAt === null && delivery.dispatchState === "backing-off")
      enqueueAgain(live, delivery);
}

function enqueueAgain(live: ActiveBroadcastState, delivery: Delivery): void {
  delivery.retryAt = null;
  delivery.awaitsNetwork = false;
  live.dispatcher.enqueue(delivery);
}

function handleFailure(live: ActiveBroadcastState, delivery: Delivery, { details, level, at }: DeliveryOutcome): void {
  const { clock } = live;
  if (details.channelDown) delivery.channelDown = reasonOf(details) ?? NO_REASON_GIVEN;
  // What the device cannot present says nothing about an attempt that it could.
  const reason = (details.unsupported ? delivery.failure : null) ?? reasonOf(details) ?? NO_REASON_GIVEN;
  const moment = { now: clock.now(), notAfter: deliveryDeadline(live, delivery) };
  // The device is not to blame for a missing network.
  const isSingle = live.singleAttempt && delivery.device !== null && !details.noNetwork;
  const mayRetry = level === "failed" && !live.closed && !isSingle;
  const delayMs = mayRetry ? retryDelayMs(delivery, details, moment) : null;
  if (delayMs === null) {
    // A channel that gives back what has expired does not skip it.
    const end = delivery.expiring && level === "skipped" ? "expired" : (level as EndLevel);
    if (showsSilence(end, details, delivery)) delivery.deviceEvidence = "silence";
    endDelivery(live, delivery, end, reason, at);
    return;
  }
  delivery.reason = reason;
  delivery.failure = reason;
  delivery.awaitsNetwork = details.noNetwork === true;
  if (delivery.awaitsNetwork) delivery.earlierAttempts++;
  delivery.retryAt = clock.now() + delayMs;
  recordJoinState(live, delivery, "failed");
  live.ledger.markDirty(delivery);
  scheduleRetry(live, delivery, delayMs);
}

/** The device was asked and did not answer; not what the appliance itself was too late or unable to do. */
function showsSilence(
  level: EndLevel,
  { inconclusive, unsupported, noNetwork }: DeliveryOutcome["details"],
  { expiring }: Delivery,
): boolean {
  return !inconclusive && !unsupported && !noNetwork && (level === "failed" || (level === "expired" && expiring));
}

function handleProgress(
  live: ActiveBroadcastState,
  delivery: Delivery,
  level: Exclude<DeliveryOutcome["level"], EndLevel>,
  { details, at, isLast }: DeliveryOutcome,
): void {
  const { sound, audioEnded } = live;
  const wasReached = isReached(delivery);
  if (promote(delivery, level, at)) {
    const missed = wasReached ? null : missedAudioReason(delivery, live);
    // A proof that it plays does not mean that enough of it was left.
    if (details.reason !== undefined || !wasReached || !isMissedAudio(delivery.reason))
      delivery.reason = reasonOf(details) ?? missed;
    delivery.textOnly = showsTextOnly(delivery, details, { wasReached, missed });
    if (missed !== null) delivery.late = true;
    else if (delivery.audible && !wasReached) {
      const hearsAll = !sound?.t0 || (!live.synchronizedStart && delivery.audioMode !== "group");
      delivery.late = !hearsAll && at > (sound?.t0 ?? 0) + (delivery.audioMode === "own" ? FIRST_PACKET_MS : 0);
    }
    live.ledger.markDirty(delivery);
  }
  recordReport(live, delivery, details);
  if (isLast) endDelivery(live, delivery, null, reasonOf(details), at);
  if (isLast || level === "sent") return;
  // A called person hears the message to its end, or answers.
  if (delivery.audioMode === "talk") {
    if (level === "confirmed") endDelivery(live, delivery, null, null, at);
    return;
  }
  recordJoinState(live, delivery, "joined");
  // A device that answers after the audio has to be silenced.
  if (isListening(delivery) && audioEnded && !wasReached) stopOnDevices(live, [delivery], "ended");
  // A text-only device has nothing more to prove, and after the audio this was the channel's last report.
  if (!delivery.audible || (isListening(delivery) && audioEnded)) endDelivery(live, delivery, null, null, at);
}

/**
 * A device on the premises that has accepted the message shows it, and plays no audio. The first acceptance of an attempt
 * replaces what an earlier attempt proved.
 */
function showsTextOnly(
  { audible, device, textOnly, level }: Delivery,
  details: DeliveryOutcome["details"],
  { wasReached, missed }: { wasReached: boolean; missed: string | null },
): boolean {
  if (device === null || level === "sent") return device !== null && textOnly;
  return (wasReached && textOnly) || !audible || missed !== null || details.textOnly === true;
}

/** Why a phone that has just answered hears none of the audio; null where it does, or there is none. */
function missedAudioReason(
  { audioMode, audible }: Delivery,
  { sound, audioEnded }: ActiveBroadcastState,
): Sentence | null {
  if (audioMode !== "group" || !sound || !(audioEnded || sound.over)) return null;
  return audible ? MISSED_AUDIO_REASONS.joined : MISSED_AUDIO_REASONS.asked;
}

function recordReport(
  live: ActiveBroadcastState,
  delivery: Delivery,
  { started, askedAgain, match, reason }: DeliveryOutcome["details"],
): void {
  if (started === undefined && askedAgain === undefined && match === undefined) return;
  delivery.deviceReport = {
    ...delivery.deviceReport,
    ...(started && { started }),
    ...(askedAgain !== undefined && { askedAgain }),
    ...(match && { match }),
  };
  if ((askedAgain ?? match) !== undefined && reason !== undefined) delivery.reason = asGiven(reason);
  live.ledger.markDirty(delivery);
}
