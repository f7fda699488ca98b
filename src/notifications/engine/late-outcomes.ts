import type { Log } from "../../lib/log.ts";
import type { ActorContext, Store, Transaction } from "../../store/store.ts";
import { NO_REASON_GIVEN } from "./active-broadcast-end.ts";
import { incrementCounter } from "./counters.ts";
import type { Delivery } from "./delivery.ts";
import { type DeliveryOutcome, reasonOf } from "./delivery-providers.ts";
import { isFailureLevel, promote } from "./delivery-state.ts";
import { deactivateUserDevice } from "./device-deactivation.ts";
import { recordMatch } from "./device-start-times.ts";
import { userChannelOf } from "./user-channel-counters.ts";

/** Levels of a message that an intermediary accepted and may still return. */
const REVOCABLE_LEVELS: readonly string[] = ["sent", "accepted"];
/** Rows of one transaction: some ms of the event loop. */
const MAX_ROWS = 100;

type KnownDelivery = Parameters<typeof promote>[0] & Pick<Delivery, "reason">;

/**
 * Applies what a channel learned about an ended delivery: it was returned, or more is proven; false where that changes
 * nothing.
 */
export function applyLateOutcome(
  delivery: KnownDelivery,
  { level, details, at, isAutonomous }: DeliveryOutcome,
): boolean {
  if (
    details.returned &&
    level === "failed" &&
    (REVOCABLE_LEVELS.includes(delivery.level) || wasUnanswered(delivery))
  ) {
    delivery.level = "failed";
    delivery.reason = reasonOf(details) ?? NO_REASON_GIVEN;
    return true;
  }
  if (isAutonomous && !isFailureLevel(level)) {
    if (delivery.level !== "planned" && isFailureLevel(delivery.level)) delivery.level = "sent";
    if (!promote(delivery, level, at)) return false;
    delivery.reason = reasonOf(details);
    return true;
  }
  if (details.afterwards !== true || isFailureLevel(level)) return false;
  // The deadline of a text is long over before a handset is switched on again.
  if (wasUnanswered(delivery)) Object.assign(delivery, { level: "sent", reason: null });
  if (promote(delivery, level, at)) {
    if (details.match) delivery.reason = reasonOf(details);
    return true;
  }
  if (details.reason === undefined || level !== delivery.level) return false;
  delivery.reason = reasonOf(details);
  return true;
}

/** It was accepted, and nothing more was reported in time. */
function wasUnanswered({ level, sentAt }: KnownDelivery): boolean {
  return level === "expired" && sentAt !== null;
}

interface EndedRow extends Pick<Delivery, "level" | "reason" | "sentAt" | "acceptedAt" | "playingAt" | "provenAt"> {
  message: number;
  notificationId: string;
  type: string;
  userDevice: number | null;
  isSettled: number;
  textOnly: number;
}

const FIND = `SELECT n.pk AS message, n.id AS notificationId, d.level, d.reason, d.type, d.user_device_pk AS userDevice, coalesce(d.text_only, 0) AS textOnly,
    d.sent_at AS sentAt, d.accepted_at AS acceptedAt, d.playing_at AS playingAt, d.proven_at AS provenAt,
    n.stage = 'settled' AS isSettled
  FROM deliveries d JOIN notifications n ON n.pk = d.notification_pk
  WHERE d.pk = ? AND d.provider = ? AND d.ended_at IS NOT NULL`;
const UPDATE = `UPDATE deliveries SET level = ?, reason = ?, accepted_at = ?, playing_at = ?, proven_at = ?, updated_at = ?
  WHERE pk = ?`;

/**
 * The same for deliveries of broadcasts that are no longer active: mails are returned after hours, push messages are
 * shown when a device is switched on. Updates their rows and the messages' counters, and disables user devices that the
 * channel reports as gone. Reports of other channels' deliveries are dropped.
 */
export function handleLateOutcomes(
  outcomes: readonly DeliveryOutcome[],
  deps: { store: Store; log: Log; by: ActorContext; clock: { now(): number } },
): void {
  const late = outcomes.filter(({ details, isAutonomous }) => isAutonomous || details.returned || details.afterwards);
  for (let first = 0; first < late.length; first += MAX_ROWS) {
    const some = late.slice(first, first + MAX_ROWS);
    deps.store
      .write((tx) => writeRows(tx, some, deps.clock.now()))
      .then((goneDevices) => {
        for (const [row, outcome] of goneDevices) deactivateUserDevice(row, outcome, deps);
      })
      .catch((error) =>
        deps.log.error(
          { event: "delivery.late_outcomes_failed", err: error, rows: some.length },
          "Late outcomes could not be stored.",
        ),
      );
  }
}

/** Returns the devices that are gone. */
function writeRows(tx: Transaction, outcomes: readonly DeliveryOutcome[], now: number): [EndedRow, DeliveryOutcome][] {
  const goneDevices: [EndedRow, DeliveryOutcome][] = [];
  const messages = new Set<string>();
  for (const outcome of outcomes) {
    const row = tx.one<EndedRow & Record<string, string | number | null>>(FIND, outcome.deliveryId, outcome.provider);
    if (!row) continue;
    const known: KnownDelivery = { ...row, audioMode: "nothing", deviceEvidence: null, failure: null };
    const { match } = outcome.details;
    if (match) recordMatch(tx, outcome.deliveryId, match);
    if (!applyLateOutcome(known, outcome) && !match) continue;
    const { level, reason, acceptedAt, playingAt, provenAt } = known;
    tx.run(UPDATE, level, reason, acceptedAt, playingAt, provenAt, now, outcome.deliveryId);
    updateCounters(tx, row, level);
    messages.add(row.notificationId);
    if (outcome.details.gone) goneDevices.push([row, outcome]);
  }
  for (const notificationId of messages) tx.emit("deliveries.changed", { notificationId });
  return goneDevices;
}

function updateCounters(tx: Transaction, row: EndedRow, level: Delivery["level"]): void {
  if (row.isSettled === 1) {
    incrementCounter(tx, row.message, `level:${row.level}`, -1);
    incrementCounter(tx, row.message, `level:${level}`, 1);
    incrementCounter(tx, row.message, `text:${row.level}`, -row.textOnly);
    incrementCounter(tx, row.message, `text:${level}`, row.textOnly);
  }
  if (row.userDevice !== null && level === "failed") {
    incrementCounter(tx, row.message, `activity:${userChannelOf(row.type)}-failed`, 1);
  }
}
