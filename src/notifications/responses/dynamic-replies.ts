import type { Transaction } from "../../store/store.ts";
import { incrementCounter } from "../engine/counters.ts";
import type { ResponseContext } from "./response-context.ts";

interface DynamicReplyRow {
  pk: number;
  quota: number | null;
  first: string | null;
  rest: string | null;
  every: string | null;
}

/** Maximum length of a reply in the recipient's row. @source docs/decisions/0042-api-contract.md */
const MAX_REPLY_LENGTH = 600;

/**
 * The reply to an answer, null for none; call it in the transaction that records the answer, so that `quota` holds
 * under concurrent answers. A quota counts people: changing the answer releases the slot, repeating it keeps the slot;
 * without a quota there is no limit; several replies to one answer are joined in order. @source
 * docs/decisions/0016-notification-engine.md, Confirmations and escalation
 */
export function assignDynamicReply(
  tx: Transaction,
  message: Pick<ResponseContext["message"], "pk">,
  question: Pick<NonNullable<ResponseContext["question"]>, "pk">,
  recipient: Pick<ResponseContext["recipient"], "pk" | "confirmationResponse" | "dynamicReply">,
  option: string,
): string | null {
  if (recipient.confirmationResponse === option) return recipient.dynamicReply;
  if (recipient.confirmationResponse !== null) releaseReplySlots(tx, message.pk, recipient.pk);
  const replies = tx.all<DynamicReplyRow & Record<string, string | number | null>>(
    `SELECT pk, quota, "first", rest, every FROM dynamic_replies
     WHERE confirmation_request_pk = ? AND option_label = ? ORDER BY pk`,
    ...[question.pk, option],
  );
  const assigned = replies.flatMap((reply) => {
    const { first, rest, every } = reply;
    const hasPlace = reply.quota === null || claimReplySlot(tx, message.pk, recipient.pk, reply, reply.quota);
    return [hasPlace ? first : rest, every].filter((text) => text !== null && text !== "");
  });
  return assigned.length === 0 ? null : [...assigned.join("\n")].slice(0, MAX_REPLY_LENGTH).join("");
}

/** True when one of the first `quota` slots was free; it is assigned to the recipient. */
function claimReplySlot(
  tx: Transaction,
  notification: number,
  recipient: number,
  { pk }: DynamicReplyRow,
  quota: number,
): boolean {
  const name = `places:${pk}` as const;
  const taken = tx.one<{ n: number }>(
    "SELECT n FROM notification_counters WHERE notification = ? AND name = ?",
    notification,
    name,
  );
  if ((taken?.n ?? 0) >= quota) return false;
  tx.run(
    "INSERT INTO notification_reply_slots (notification, recipient, reply) VALUES (?, ?, ?)",
    notification,
    recipient,
    pk,
  );
  incrementCounter(tx, notification, name, 1);
  return true;
}

function releaseReplySlots(tx: Transaction, notification: number, recipient: number): void {
  const held = tx.all<{ reply: number }>(
    "SELECT reply FROM notification_reply_slots WHERE notification = ? AND recipient = ?",
    notification,
    recipient,
  );
  if (held.length === 0) return;
  for (const { reply } of held) incrementCounter(tx, notification, `places:${reply}`, -1);
  tx.run("DELETE FROM notification_reply_slots WHERE notification = ? AND recipient = ?", notification, recipient);
}
