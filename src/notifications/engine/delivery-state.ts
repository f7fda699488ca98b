/**
 * State of a delivery: its levels, its reason, and how long it is retried. Retries follow a backoff by class of the message
 * until they are used up or the message is no longer useful.
 */

import { backoffMs } from "../../lib/backoff.ts";
import { asGiven, type Sentence, sentence } from "../../lib/sentences/sentences.ts";
import type { OutcomeDetails, OutcomeLevel } from "../../plugin-api/index.ts";
import { isMissedAudio, MISSED_AUDIO_REASONS } from "../../resources/notifications/missed-audio.ts";
import type { Delivery, EndLevel, ProvenState } from "./delivery.ts";

const LEVEL_RANK = {
  planned: 0,
  sent: 1,
  accepted: 2,
  playing: 3,
  heard: 4,
  confirmed: 4,
  failed: 9,
  skipped: 9,
  expired: 9,
};

/** Maximum length of a reason in the ledger. */
const MAX_REASON_LENGTH = 500;

/** Retry backoff by class of the message. @source docs/decisions/0101-delivery-engine.md, Retries */
const RETRY_AFTER_MS = { emergency: [1_000, 3_000, 10_000, 30_000], routine: [1_000, 3_000] } as const;

/** What is expected to pass is tried on: each pause is twice the one before, up to these. */
const MAX_PAUSE_MS = { emergency: 30_000, routine: 60_000 } as const;

/** Pauses differ by up to a quarter, so that what failed together is not tried again together. */
const JITTER_STEPS = 64;

/** Retry without a network change, which may have been missed. */
const RETRY_WITHOUT_NETWORK_MS = 10_000;

/** SQL list of the levels of devices that a settled message has not reached. */
export const UNREACHED_LEVELS_SQL = "('failed', 'skipped', 'expired')";

/** SQL condition: the delivery reached a phone that did not hear the message. */
export const MISSED_AUDIO_SQL = `(level IN ('accepted', 'playing') AND reason IN (${Object.values(MISSED_AUDIO_REASONS)
  .map((reason) => `'${reason}'`)
  .join(", ")}))`;

/** True for a level of a failed delivery or one that was not tried. */
export function isFailureLevel(level: OutcomeLevel): level is EndLevel {
  return level === "failed" || level === "skipped" || level === "expired";
}

/** True when the proof is final whatever follows: the device confirmed, or a zone got our packets. */
export function isReached(delivery: Delivery): boolean {
  return (
    LEVEL_RANK[delivery.level] >= reachedRank(delivery.audioMode) && LEVEL_RANK[delivery.level] < LEVEL_RANK.failed
  );
}

function reachedRank(audioMode: Delivery["audioMode"]): number {
  return audioMode === "own" ? LEVEL_RANK.sent : LEVEL_RANK.accepted;
}

/** It has joined the multicast group, or answered the call. */
export function isListening(delivery: Delivery): boolean {
  return (delivery.audioMode === "group" || delivery.audioMode === "call") && delivery.audible && isReached(delivery);
}

/** It listens, or does as soon as it answers. */
export function willListen(delivery: Delivery): boolean {
  return delivery.endedAt === null && (delivery.dispatchState === "in-flight" || isListening(delivery));
}

/** Raises the level of a delivery; false when it had that level already, or has failed. */
export function promote(
  delivery: Pick<
    Delivery,
    "level" | "audioMode" | "deviceEvidence" | "failure" | "sentAt" | "acceptedAt" | "playingAt" | "provenAt"
  >,
  level: Exclude<OutcomeLevel, EndLevel>,
  at: number,
): boolean {
  if (LEVEL_RANK[level] <= LEVEL_RANK[delivery.level]) return false;
  delivery.level = level;
  if (LEVEL_RANK[level] >= reachedRank(delivery.audioMode)) delivery.failure = null;
  delivery.sentAt ??= at;
  if (LEVEL_RANK[level] >= LEVEL_RANK.accepted) delivery.acceptedAt ??= at;
  if (LEVEL_RANK[level] >= LEVEL_RANK.playing) delivery.playingAt ??= at;
  if (LEVEL_RANK[level] >= LEVEL_RANK.heard) delivery.provenAt ??= at;
  if (LEVEL_RANK[level] >= LEVEL_RANK.accepted) delivery.deviceEvidence = "life";
  else if (delivery.audioMode === "own") delivery.deviceEvidence = "packets";
  return true;
}

/**
 * Ends a delivery with a reason; its level becomes `level` only where the device was not reached. After a failed
 * attempt the delivery has failed for the reason of that attempt: what ends it afterwards (a skip, the deadline, the end
 * of the audio) says nothing about the device.
 */
export function finish(delivery: Delivery, level: EndLevel | null, reason: Sentence | null, at: number): void {
  const isLost = level !== null && !isReached(delivery);
  const failure = isLost && level !== "failed" ? delivery.failure : null;
  if (isLost) delivery.level = failure === null ? level : "failed";
  const stated = failure ?? reason;
  if (stated !== null) delivery.reason = shortened(stated);
  delivery.endedAt = at;
  delivery.retryAt = null;
}

/**
 * The state to store for a delivery: for a repeat the best state ever proven, at its first time, with a reason where
 * the repeat itself failed. That the audio was missed stays the reason until it is heard.
 */
export function effectiveState(delivery: Delivery): ProvenState {
  const { previousProof, level, reason } = delivery;
  if (previousProof === null) return delivery;
  const hasFailed = LEVEL_RANK[level] === LEVEL_RANK.failed;
  return {
    level: !hasFailed && LEVEL_RANK[level] > LEVEL_RANK[previousProof.level] ? level : previousProof.level,
    reason: hasFailed ? reasonOfFailedRepeat(previousProof.reason, reason) : reason,
    sentAt: previousProof.sentAt ?? delivery.sentAt,
    acceptedAt: previousProof.acceptedAt ?? delivery.acceptedAt,
    playingAt: previousProof.playingAt ?? delivery.playingAt,
    provenAt: previousProof.provenAt ?? delivery.provenAt,
  };
}

function reasonOfFailedRepeat(before: Sentence | null, reason: Sentence | null): Sentence | null {
  if (isMissedAudio(before)) return before;
  return reason && shortened(sentence("delivery.sent-again-failed", { reason }));
}

function shortened(reason: Sentence): Sentence {
  return reason.length <= MAX_REASON_LENGTH ? reason : asGiven(reason.slice(0, MAX_REASON_LENGTH));
}

/** Ms until a failed delivery is retried; null when it is not. The only place that decides this. */
export function retryDelayMs(
  delivery: Delivery,
  details: OutcomeDetails,
  moment: { now: number; notAfter: number },
): number | null {
  if (isReached(delivery)) return null;
  if (details.noNetwork) return moment.now < moment.notAfter ? RETRY_WITHOUT_NETWORK_MS : null;
  if (!details.retryable) return null;
  const delay = pauseMs(delivery, details.passing === true);
  if (delay === null) return null;
  const wait = Math.max(delay, details.retryAfterMs ?? 0);
  return moment.now + wait < moment.notAfter ? wait : null;
}

/** Pause after the attempts so far; null when there are no more. */
function pauseMs({ priority, attempt, earlierAttempts, pk }: Delivery, isPassing: boolean): number | null {
  const urgency = priority === 0 ? "emergency" : "routine";
  const delays = RETRY_AFTER_MS[urgency];
  const failures = attempt - earlierAttempts;
  const listed = delays[failures - 1];
  if (listed !== undefined || !isPassing) return listed ?? null;
  const pause = backoffMs(failures - delays.length + 1, delays.at(-1) ?? 0, MAX_PAUSE_MS[urgency]);
  return Math.round(pause * (1 + (pk % JITTER_STEPS) / (4 * JITTER_STEPS)));
}
