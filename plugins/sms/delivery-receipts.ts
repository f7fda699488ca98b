import type { Pdu } from "smpp";
import type { Clock } from "#plugin-api";
import { createMessageIdIndex } from "./message-ids.ts";
import { sentence } from "./sentences.ts";

/** Delivery receipt of one segment. */
export interface DeliveryReceipt {
  /** The provider's message id of the segment. */
  name: string;
  /** Null while in transit. */
  arrived: boolean | null;
  /** The provider's state, with its error code or text. */
  state: string;
  /** Telephone numbers of the receipt, one of them the recipient's; empty if it has none. */
  numbers?: readonly string[];
}

/** Tracks receipts; a message is delivered when all its segments are. */
export interface ReceiptTracker {
  /** `id` identifies the message, `names` are the provider's ids of its segments, `recipient` is the number. */
  expect(id: number, names: readonly string[], recipient?: string): void;
  handle(receipt: DeliveryReceipt): void;
}

/** Limits of receipts that arrive before the submit response. */
const MAX_EARLY_RECEIPTS = 1_000;
const EARLY_RETENTION_MS = 60_000;
/** Limits of tracked segments: the newest, and for how long, since providers retry for at most three days. */
const MAX_PENDING = 50_000;
const RETENTION_MS = 4 * 86_400_000;

/** Names of numeric states. @source SMPP 3.4 §5.2.28, SMPP 5.0 §4.7.15, message_state */
const STATES = [
  "SCHEDULED",
  "ENROUTE",
  "DELIVRD",
  "EXPIRED",
  "DELETED",
  "UNDELIV",
  "ACCEPTD",
  "UNKNOWN",
  "REJECTD",
  "SKIPPED",
];
/** Beginnings of states, since providers spell and truncate them differently. @source SMPP 3.4 appendix B */
const ARRIVED = /^DELI/;
const LOST = /^(?:UNDE|EXPI|DELE|REJE|FAIL|SKIP)/;

/**
 * Parses a receipt from its parameters, or else from its text, whose fields come in any order and case and may be
 * truncated. An intermediate notification is never final.
 * @source SMPP 3.4 §5.3.2.12, §5.3.2.35, appendix B
 */
export function parseDeliveryReceipt(
  { receipted_message_id: id, message_state: given }: Pick<Pdu, "receipted_message_id" | "message_state">,
  text: string,
  { numbers = [], isIntermediate = false }: { numbers?: readonly string[]; isIntermediate?: boolean } = {},
): DeliveryReceipt {
  const fields = receiptFields(text);
  const named = given === undefined ? "" : (STATES[given] ?? "");
  const state = (named || (fields.get("stat") ?? "")).toUpperCase();
  const error = fields.get("err") ?? "";
  const final = ARRIVED.test(state) ? true : LOST.test(state) ? false : null;
  return {
    name: id || (fields.get("id") ?? ""),
    arrived: isIntermediate ? null : final,
    state: /^0*$/.test(error) ? state : `${state}, error ${error}`,
    ...(numbers.length > 0 && { numbers }),
  };
}

/** True for the text of a receipt, which some providers send without its flag; no person writes all these fields. */
export function isReceiptText(text: string): boolean {
  const fields = receiptFields(text);
  return fields.has("id") && fields.has("stat") && (fields.has("done") || fields.has("submit") || fields.has("dlvrd"));
}

const NAMES: Readonly<Record<string, string>> = { state: "stat", status: "stat", error: "err" };

/** Fields before the original text, which may itself contain names of fields; names in lower case. */
function receiptFields(text: string): ReadonlyMap<string, string> {
  const head = text.slice(0, 512).split(/\btext\s*:/i, 1)[0] ?? "";
  const fields = new Map<string, string>();
  for (const [, name = "", value = ""] of head.matchAll(
    /\b(id|sub|dlvrd|submit(?=[ _]?date)|done(?=[ _]?date)|stat(?:us|e)?|err(?:or)?)(?:[ _]?date)?[ ]{0,2}:[ ]{0,2}([^\s:]*)(?!\S*:)/gi,
  )) {
    const key = NAMES[name.toLowerCase()] ?? name.toLowerCase();
    if (!fields.has(key)) fields.set(key, value);
  }
  return fields;
}

/** Reason of a failed delivery; null if delivered. */
export function receiptFailure({ arrived, state }: DeliveryReceipt): string | null {
  return arrived ? null : sentence("lost", { state: state.slice(0, 100) });
}

interface PendingMessage {
  id: number;
  parts: Set<string>;
  numbers: readonly string[];
  since: number;
}

/** Creates a tracker; `onReceipt` is called once per message, with the reason of a failure. */
export function createReceiptTracker(
  clock: Pick<Clock, "monotonicMs">,
  onReceipt: (id: number, error: string | null) => void,
  onAmbiguous: (name: string) => void = () => undefined,
): ReceiptTracker {
  const waiting = createMessageIdIndex<PendingMessage>();
  const early = createMessageIdIndex<{ receipt: DeliveryReceipt; numbers: readonly string[]; since: number }>();

  const dropOldest = (now: number): void => {
    for (const [name, { since }] of waiting.entries()) {
      if (waiting.size <= MAX_PENDING && now - since <= RETENTION_MS) break;
      waiting.delete(name);
    }
  };

  const dropEarly = (now: number): void => {
    for (const [name, { since }] of early.entries()) {
      if (early.size <= MAX_EARLY_RECEIPTS && now - since <= EARLY_RETENTION_MS) break;
      early.delete(name);
    }
  };

  const finishPart = (name: string, message: PendingMessage, receipt: DeliveryReceipt): void => {
    waiting.delete(name);
    message.parts.delete(name);
    if (receipt.arrived && message.parts.size > 0) return;
    for (const part of message.parts) waiting.delete(part);
    message.parts.clear();
    onReceipt(message.id, receiptFailure(receipt));
  };

  const handle = (receipt: DeliveryReceipt): void => {
    if (receipt.arrived === null || receipt.name === "") return;
    const numbers = receipt.numbers ?? [];
    const found = waiting.find(receipt.name, numbers);
    if (found === "ambiguous") onAmbiguous(receipt.name);
    else if (found) finishPart(found.name, found.value, receipt);
    else {
      // Some providers send the receipt before the submit response.
      const since = clock.monotonicMs();
      early.delete(receipt.name);
      early.set(receipt.name, { receipt, numbers, since });
      dropEarly(since);
    }
  };

  return {
    expect(id, names, recipient = "") {
      const since = clock.monotonicMs();
      const known = names.filter((name) => name !== "");
      const message: PendingMessage = { id, parts: new Set(known), numbers: [recipient], since };
      for (const name of known) waiting.set(name, message);
      dropOldest(since);
      dropEarly(since);
      for (const name of known) {
        const found = early.find(name, [recipient]);
        if (found === null || found === "ambiguous" || !message.parts.has(name)) continue;
        early.delete(found.name);
        finishPart(name, message, found.value.receipt);
      }
    },
    handle,
  };
}
