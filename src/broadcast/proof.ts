import type { OutcomeDetails, OutcomeLevel } from "../plugin-api/index.ts";
import type { Delivery, EndLevel, ProvenBefore } from "./delivery.ts";

const RANK = {
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

/** Longest reason that the ledger keeps. */
const MOST_REASON = 500;

/** Waits before the second and later tries, by class of the message. own choice */
const RETRY_AFTER_MS = { emergency: [1_000, 3_000, 10_000, 30_000], routine: [1_000, 3_000] } as const;

/** The levels of devices that a settled message has not reached, as they stand in SQL. */
export const NOT_REACHED = "('failed', 'skipped', 'expired')";

/** True for a level that says that it did not work, or was not tried. */
export function isEndLevel(level: OutcomeLevel): level is EndLevel {
  return level === "failed" || level === "skipped" || level === "expired";
}

/** True when as much is proven as the end of a message can't take back: the device said yes, or a zone got our packets. */
export function isReached(delivery: Delivery): boolean {
  return (
    RANK[delivery.level] >= (delivery.hears === "own" ? RANK.sent : RANK.accepted) && RANK[delivery.level] < RANK.failed
  );
}

/** It has joined the pooled group, or taken the call. */
export function isListening(delivery: Delivery): boolean {
  return (delivery.hears === "group" || delivery.hears === "call") && delivery.audible && isReached(delivery);
}

/** It listens, or does as soon as it answers. */
export function willListen(delivery: Delivery): boolean {
  return delivery.endedAt === null && (delivery.place === "out" || isListening(delivery));
}

/** Raises the level of a delivery; false when that much was known already, or it had failed. */
export function rise(
  delivery: Pick<Delivery, "level" | "hears" | "deviceShowed" | "sentAt" | "acceptedAt" | "playingAt" | "provenAt">,
  level: Exclude<OutcomeLevel, EndLevel>,
  at: number,
): boolean {
  if (RANK[level] <= RANK[delivery.level]) return false;
  delivery.level = level;
  delivery.sentAt ??= at;
  if (RANK[level] >= RANK.accepted) delivery.acceptedAt ??= at;
  if (RANK[level] >= RANK.playing) delivery.playingAt ??= at;
  if (RANK[level] >= RANK.heard) delivery.provenAt ??= at;
  if (RANK[level] >= RANK.accepted) delivery.deviceShowed = "life";
  else if (delivery.hears === "own") delivery.deviceShowed = "packets";
  return true;
}

/** Ends a delivery in words; its level becomes `level` only where the device was not reached. */
export function conclude(delivery: Delivery, level: EndLevel | null, reason: string | null, at: number): void {
  if (level !== null && !isReached(delivery)) delivery.level = level;
  if (reason !== null) delivery.reason = reason.slice(0, MOST_REASON);
  delivery.endedAt = at;
  delivery.retryAt = null;
}

/**
 * What the row of a delivery says: of a repeat the best that was ever proven, at its first moment, with words where the
 * repeat itself did not get through. own choice
 */
export function standingOf(delivery: Delivery): ProvenBefore & Pick<Delivery, "reason"> {
  const { before, level, reason } = delivery;
  if (before === null) return delivery;
  const hasFailed = RANK[level] === RANK.failed;
  return {
    level: !hasFailed && RANK[level] > RANK[before.level] ? level : before.level,
    reason: hasFailed && reason !== null ? `Sent again without success: ${reason}`.slice(0, MOST_REASON) : reason,
    sentAt: before.sentAt ?? delivery.sentAt,
    acceptedAt: before.acceptedAt ?? delivery.acceptedAt,
    playingAt: before.playingAt ?? delivery.playingAt,
    provenAt: before.provenAt ?? delivery.provenAt,
  };
}

/** Ms until a failed delivery is tried again; null when that makes no sense any more. The only place that decides it. */
export function retryDelay(
  delivery: Delivery,
  details: OutcomeDetails,
  moment: { now: number; notAfter: number },
): number | null {
  if (!details.retryable || isReached(delivery)) return null;
  const delays = RETRY_AFTER_MS[delivery.priority === 0 ? "emergency" : "routine"];
  const delay = delays[delivery.attempt - delivery.earlierAttempts - 1];
  if (delay === undefined) return null;
  const wait = Math.max(delay, details.retryAfterMs ?? 0);
  return moment.now + wait < moment.notAfter ? wait : null;
}
