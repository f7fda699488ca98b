import type { Transaction } from "../store/store.ts";
import { addToCountOf } from "./counts.ts";
import type { Counted, Delivery, Sending } from "./delivery.ts";

const BY_TYPE: ReadonlyMap<string, Sending> = new Map([
  ["SMS", "sms"],
  ["email", "email"],
  ["phone-call", "call"],
]);

/** The channel of a device of a user, by its type. @source decisions.md 5, 14 */
export function sendingOf(type: string): Sending {
  return BY_TYPE.get(type) ?? "push";
}

/**
 * Counts what became of a delivery to a device of a user, in the transaction that writes its row; gives what is counted
 * then. own choice: the counters of its diary words grow (sms-sent, email-failed, call-answered), without an entry for
 * each of thousands.
 */
export function countSending(tx: Transaction, { owner, sending, counted, ...delivery }: Delivery): Counted {
  if (sending === null) return counted;
  const now = {
    sent: delivery.sentAt !== null,
    answered: delivery.acceptedAt !== null,
    failed: delivery.endedAt !== null && delivery.level === "failed",
  };
  const count = (word: string): void => addToCountOf(tx, owner.id, `activity:${sending}-${word}`, 1);
  if (now.sent && !counted.sent) count(sending === "call" ? "placed" : "sent");
  if (sending === "call" && now.answered && !counted.answered) count("answered");
  if (now.failed && !counted.failed) count("failed");
  return now;
}
