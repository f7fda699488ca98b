import type { Transaction } from "../../store/store.ts";
import { incrementCounterById } from "./counters.ts";
import type { CountedEvents, Delivery, UserChannel } from "./delivery.ts";

const BY_TYPE: ReadonlyMap<string, UserChannel> = new Map([
  ["SMS", "sms"],
  ["email", "email"],
  ["phone-call", "call"],
]);

/**
 * The channel of a user device, by its type. @source docs/decisions/0014-enumerations.md, Notification activity type
 */
export function userChannelOf(type: string): UserChannel {
  return BY_TYPE.get(type) ?? "push";
}

/**
 * Counts the result of a delivery to a user device, in the transaction that writes its row; returns what is counted
 * then. Increments the counters of its activity types (sms-sent, email-failed, call-answered) without an entry for each
 * of thousands.
 */
export function countUserDelivery(
  tx: Transaction,
  { owner, userChannel, counted, ...delivery }: Delivery,
): CountedEvents {
  if (userChannel === null) return counted;
  const now = {
    sent: delivery.sentAt !== null,
    answered: delivery.acceptedAt !== null,
    failed: delivery.endedAt !== null && delivery.level === "failed",
  };
  const count = (word: string): void => incrementCounterById(tx, owner.id, `activity:${userChannel}-${word}`, 1);
  if (now.sent && !counted.sent) count(userChannel === "call" ? "placed" : "sent");
  if (userChannel === "call" && now.answered && !counted.answered) count("answered");
  if (now.failed && !counted.failed) count("failed");
  return now;
}
